/* A controller that hovers a vehicle without feedback, and does what the parameter `mode` says from half a second on. */
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "rotor_controller.h"
#include "rotor_units.h"

enum { FINE, CRASHES, NOT_FINITE, NEVER_RETURNS, REPORTS, FORCES, DUTIES, NO_KIND };
static rotor_vehicle vehicle;
static int mode, calls, collected;
static double begun, seen[8];

int rotor_version(void) {
#ifdef OTHER_VERSION
  return 99;
#else
  return ROTOR_CONTROLLER_VERSION;
#endif
}
void *rotor_create(const rotor_vehicle *of) {
  vehicle = *of;
  return of->n_rotors > 4 ? NULL : &vehicle;
}
void rotor_destroy(void *self) { (void)self; }
int rotor_set(void *self, const char *name, double value) {
  (void)self;
  if (strcmp(name, "mode")) return -1;
  mode = (int)value;
  return 0;
}
int rotor_step(void *self, const rotor_input *in, rotor_output *out) {
  double weight = vehicle.mass * vehicle.gravity, ned[3];
  (void)self;
  calls++;
  seen[0] = in->accelerometer[2];
  seen[1] = rotor_g(in->accelerometer[2]);
  rotor_ned(in->state.position, ned);
  seen[2] = ned[2];
  seen[3] = calls;
  seen[4] = in->n_team;
  seen[6] = in->time;
  memset(out, 0, sizeof *out);
  out->wrench[0] = weight;
  if (mode == FORCES || mode == DUTIES) out->kind = mode == FORCES ? ROTOR_FORCES : ROTOR_PWM;
  for (int i = 0; i < vehicle.n_rotors; i++) {
    out->forces[i] = weight / vehicle.n_rotors;
    out->pwm[i] = 0.25;
  }
  if (in->time < 0.5) return 0;
  if (mode == CRASHES) raise(SIGSEGV);
  if (mode == NOT_FINITE) out->wrench[2] = NAN;
  while (mode == NEVER_RETURNS) calls++;
  if (mode == NO_KIND) out->kind = 9;
  return mode == REPORTS ? 7 : 0;
}
const char *rotor_log_name(void *self, int64_t i) {
  static const char *names[] = {"up", "up_g", "down_m", "calls", "n_team", "collected", "time"};
  (void)self;
  return i < 7 ? names[i] : NULL;
}
double rotor_log_value(void *self, int64_t i) {
  (void)self;
  seen[5] = collected;
  return seen[i];
}
int rotor_has_work(void *self) {
  (void)self;
  return 1;
}
void rotor_work(void *self) {
  (void)self;
  begun = seen[6];
}
void rotor_collect(void *self) {
  (void)self;
  collected++;
}
