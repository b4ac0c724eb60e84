/* Cascaded PID of one free vehicle: position, velocity, tilt and rate, each in a loop of its own. State is kept in
 * statics, as firmware does: every vehicle gets a loaded copy of its own.
 *
 *   cc -O2 -shared -fPIC -I ros2_ws/src/rotor_adapters/rotor_adapters/library \
 *      examples/library/cascaded_pid.c -lm -o cascaded_pid.so
 */
#include <math.h>
#include <string.h>

#include "rotor_controller.h"

static rotor_vehicle vehicle;
static double integral[3], thrust;
static double kp = 6.0, kv = 4.0, ki = 1.0, tilt_per_s2 = 300.0, rate_per_s = 35.0;

int rotor_version(void) { return ROTOR_CONTROLLER_VERSION; }

void *rotor_create(const rotor_vehicle *of) {
  vehicle = *of;
  memset(integral, 0, sizeof integral);
  return &vehicle;
}

void rotor_destroy(void *self) { (void)self; }

int rotor_set(void *self, const char *name, double value) {
  (void)self;
  if (!strcmp(name, "kp")) kp = value;
  else if (!strcmp(name, "kv")) kv = value;
  else if (!strcmp(name, "ki")) ki = value;
  else return -1;
  return 0;
}

/* v in the body, of v in the world */
static void into_body(const double q[4], const double v[3], double out[3]) {
  double w = q[0], x = -q[1], y = -q[2], z = -q[3];
  double t[3] = {2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])};
  out[0] = v[0] + w * t[0] + y * t[2] - z * t[1];
  out[1] = v[1] + w * t[1] + z * t[0] - x * t[2];
  out[2] = v[2] + w * t[2] + x * t[1] - y * t[0];
}

int rotor_step(void *self, const rotor_input *in, rotor_output *out) {
  const rotor_state *s = &in->state;
  const rotor_reference *r = &in->reference;
  double push[3], axis[3], ahead[3];
  (void)self;
  for (int i = 0; i < 3; i++) {
    double e = r->position[i] - s->position[i];
    integral[i] += ki * e * in->period;
    push[i] = r->acceleration[i] + kp * e + kv * (r->velocity[i] - s->velocity[i]) + integral[i];
  }
  push[2] += vehicle.gravity;
  double size = sqrt(push[0] * push[0] + push[1] * push[1] + push[2] * push[2]);
  into_body(s->attitude, push, axis); /* the body's z axis shall point there */
  double heading[3] = {cos(r->yaw), sin(r->yaw), 0.0};
  into_body(s->attitude, heading, ahead);
  double error[3] = {-axis[1] / size, axis[0] / size, ahead[1]};
  thrust = vehicle.mass * axis[2];
  out->kind = ROTOR_WRENCH;
  out->wrench[0] = thrust;
  for (int i = 0; i < 3; i++) {
    double alpha = tilt_per_s2 * (i < 2 ? 1.0 : 0.2) * error[i] - rate_per_s * (i < 2 ? 1.0 : 0.4) * in->gyroscope[i];
    out->wrench[1 + i] = vehicle.inertia[4 * i] * alpha;
  }
  return 0;
}

const char *rotor_log_name(void *self, int64_t i) {
  static const char *names[] = {"thrust", "integral_z"};
  (void)self;
  return i < 2 ? names[i] : 0;
}

double rotor_log_value(void *self, int64_t i) {
  (void)self;
  return i == 0 ? thrust : integral[2];
}
