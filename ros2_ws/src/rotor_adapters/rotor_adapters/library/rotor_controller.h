/* A controller of one vehicle in a shared library. Export these functions with C linkage.
 *
 * SI units throughout. World axes: east, north, up. Body axes: forward, left, up. Quaternions turn body into
 * world, w first. Rows of the team: its vehicles in their order, then the payload. rotor_units.h has conversions to
 * deg/s, g, 16-bit PWM, north-east-down.
 */
#ifndef ROTOR_CONTROLLER_H
#define ROTOR_CONTROLLER_H
#include <stdint.h>

#define ROTOR_CONTROLLER_VERSION 1
#define ROTOR_MOTORS 16

typedef struct {
  double position[3], attitude[4]; /* m, w x y z */
  double velocity[3], body_rate[3]; /* m/s in the world, rad/s in the body */
} rotor_state;

typedef struct {
  double id, mass;          /* number in the team from 0; kg, nominal */
  double attachment[3];     /* of a vehicle: where its cable holds the payload, in axes of the payload, m */
  double cable_length;      /* m; NaN: there is none */
  rotor_state state;        /* of a point mass: attitude NaN */
} rotor_member;

typedef struct {            /* what to follow: the payload's where the team has one, else the vehicle's */
  double position[3], velocity[3], acceleration[3], jerk[3], snap[3];
  double attitude[4], body_rate[3], angular_acceleration[3];
  double yaw, yaw_rate, yaw_acceleration;
} rotor_reference;

typedef struct {
  double time, period;      /* s since the flight began; of control */
  rotor_state state;        /* of this vehicle, as it is measured */
  double accelerometer[3];  /* specific force in the body, m/s^2: +9.81 up at rest */
  double gyroscope[3];      /* rad/s in the body */
  rotor_reference reference;
  int64_t self, payload, n_team; /* rows of this vehicle and of the payload (-1: none); rows of the team */
  const rotor_member *team;
} rotor_input;

enum { ROTOR_WRENCH = 0, ROTOR_FORCES = 1, ROTOR_PWM = 2 };

typedef struct {
  int64_t kind;                /* which of these counts */
  double wrench[4];            /* thrust along body z N, moment in the body N m */
  double forces[ROTOR_MOTORS]; /* of each rotor, N */
  double pwm[ROTOR_MOTORS];    /* duty of each motor, 0..1: from the smallest to the largest rotor speed */
} rotor_output;

typedef struct {
  double mass, inertia[9], gravity, period; /* nominal; kg, kg m^2 row by row, m/s^2, s */
  int64_t n_rotors;
  double rotors[ROTOR_MOTORS][4];           /* x, y, z of the hub m; +1 turns counter-clockwise from above, -1 not */
  double thrust[ROTOR_MOTORS][2];           /* smallest and largest force, N */
  double torque_per_thrust;                 /* m */
} rotor_vehicle;

#ifdef __cplusplus
extern "C" {
#endif
int rotor_version(void);                                    /* ROTOR_CONTROLLER_VERSION */
void *rotor_create(const rotor_vehicle *vehicle);           /* NULL: impossible */
void rotor_destroy(void *self);
int rotor_set(void *self, const char *name, double value);  /* a parameter; 0: known and set */
int rotor_step(void *self, const rotor_input *in, rotor_output *out); /* once per period; 0: well */
/* May be left out. Log variables: names from 0 on until NULL, values in the same order. */
const char *rotor_log_name(void *self, int64_t i);
double rotor_log_value(void *self, int64_t i);
/* May be left out. A part that takes long: asked after each step whether it has work (1); then it works on what it
 * kept, and its answer counts from when it is collected: the host does that after the latency it was told. */
int rotor_has_work(void *self);
void rotor_work(void *self);
void rotor_collect(void *self);
#ifdef __cplusplus
}
#endif
#endif
