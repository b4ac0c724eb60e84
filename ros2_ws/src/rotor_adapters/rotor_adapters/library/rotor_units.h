/* Conversions for firmware that has other units and axes than rotor_controller.h. */
#ifndef ROTOR_UNITS_H
#define ROTOR_UNITS_H

static inline double rotor_deg(double rad) { return rad * 57.29577951308232; }
static inline double rotor_rad(double deg) { return deg * 0.017453292519943295; }
static inline double rotor_g(double m_s2) { return m_s2 / 9.80665; }          /* specific force in standard g */
static inline double rotor_duty(double pwm16) { return pwm16 / 65535.0; }     /* of 16-bit PWM */
static inline double rotor_duty_us(double us) { return (us - 1000.0) / 1000.0; } /* of pulses of 1000 to 2000 us */

/* Thrust in N of a 16-bit PWM that is proportional to thrust, and back. */
static inline double rotor_force(double pwm16, double largest) { return pwm16 / 65535.0 * largest; }
static inline double rotor_pwm16(double force, double largest) { return force / largest * 65535.0; }

/* w x y z to x y z w, and back. */
static inline void rotor_xyzw(const double q[4], double out[4]) {
  out[0] = q[1]; out[1] = q[2]; out[2] = q[3]; out[3] = q[0];
}
static inline void rotor_wxyz(const double q[4], double out[4]) {
  out[0] = q[3]; out[1] = q[0]; out[2] = q[1]; out[3] = q[2];
}

/* East-north-up to north-east-down; forward-left-up to forward-right-down. Each is its own inverse. */
static inline void rotor_ned(const double v[3], double out[3]) {
  double e = v[0];
  out[0] = v[1]; out[1] = e; out[2] = -v[2];
}
static inline void rotor_frd(const double v[3], double out[3]) {
  out[0] = v[0]; out[1] = -v[1]; out[2] = -v[2];
}
#endif
