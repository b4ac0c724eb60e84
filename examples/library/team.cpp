// One vehicle of a team with a point mass on cables: the force of the payload's control is shared by an
// asynchronous part (slow on board), cable and attitude follow it in every period.
//
//   c++ -O2 -shared -fPIC -I ros2_ws/src/rotor_adapters/rotor_adapters/library examples/library/team.cpp -o team.so
#include <cmath>
#include <cstring>

#include "rotor_controller.h"

namespace {

struct Vector {
  double x, y, z;
  Vector operator+(Vector b) const { return {x + b.x, y + b.y, z + b.z}; }
  Vector operator-(Vector b) const { return {x - b.x, y - b.y, z - b.z}; }
  Vector operator*(double k) const { return {k * x, k * y, k * z}; }
  double dot(Vector b) const { return x * b.x + y * b.y + z * b.z; }
  double norm() const { return std::sqrt(dot(*this)); }
};

Vector at(const double v[3]) { return {v[0], v[1], v[2]}; }

Vector into_body(const double q[4], Vector v) {
  Vector u{-q[1], -q[2], -q[3]};
  Vector t{2 * (u.y * v.z - u.z * v.y), 2 * (u.z * v.x - u.x * v.z), 2 * (u.x * v.y - u.y * v.x)};
  return {v.x + q[0] * t.x + u.y * t.z - u.z * t.y, v.y + q[0] * t.y + u.z * t.x - u.x * t.z,
          v.z + q[0] * t.z + u.x * t.y - u.y * t.x};
}

struct Controller {
  rotor_vehicle vehicle;
  double spread = 0.5;            // rad from the vertical
  Vector wanted{0, 0, 0};         // of the payload: what the asynchronous part works on
  Vector share{0, 0, 0};          // force of this vehicle's cable on the payload: its answer
  Vector next{0, 0, 0};
  int64_t self = 0, n = 1;
  bool has_answer = false;
  Vector integral{0, 0, 0};

  Vector direction(int64_t k) const {
    double angle = 2.0 * M_PI * k / n;
    return n == 1 ? Vector{0, 0, 1}
                  : Vector{std::sin(spread) * std::cos(angle), std::sin(spread) * std::sin(angle), std::cos(spread)};
  }

  // shares of least squares about the directions of rest: f_k = d_k d_k^T (sum d d^T)^-1 F
  Vector solve(Vector force) const {
    double across = 0, up = 0;
    for (int64_t k = 0; k < n; k++) {
      across += direction(k).x * direction(k).x;
      up += direction(k).z * direction(k).z;
    }
    Vector d = direction(self);
    if (n < 3) return d * (force.z / (n * d.z));
    double along = d.x * force.x / across + d.y * force.y / across + d.z * force.z / up;
    return d * along;
  }

  void step(const rotor_input &in, rotor_output &out) {
    const rotor_member &load = in.team[in.payload];
    self = in.self;
    n = in.n_team - 1;
    Vector e = at(in.reference.position) - at(load.state.position);
    Vector v = at(in.reference.velocity) - at(load.state.velocity);
    integral = integral + e * (0.5 * in.period);
    wanted = (at(in.reference.acceleration) + e * 4.0 + v * 3.0 + integral + Vector{0, 0, vehicle.gravity}) * load.mass;
    if (!has_answer) share = solve(wanted);
    // the vehicle goes to where its cable has the direction of its share
    double length = in.team[in.self].cable_length;
    Vector line = share * (1.0 / share.norm());
    Vector goal = at(load.state.position) + line * length;
    Vector a = (goal - at(in.state.position)) * 9.0 + (at(load.state.velocity) - at(in.state.velocity)) * 5.0 +
               at(in.reference.acceleration) + Vector{0, 0, vehicle.gravity};
    Vector push = a * vehicle.mass + share;
    Vector axis = into_body(in.state.attitude, push);
    Vector ahead = into_body(in.state.attitude, {std::cos(in.reference.yaw), std::sin(in.reference.yaw), 0});
    double size = push.norm();
    out.kind = ROTOR_WRENCH;
    out.wrench[0] = axis.z;
    out.wrench[1] = vehicle.inertia[0] * (-400.0 * axis.y / size - 40.0 * in.gyroscope[0]);
    out.wrench[2] = vehicle.inertia[4] * (400.0 * axis.x / size - 40.0 * in.gyroscope[1]);
    out.wrench[3] = vehicle.inertia[8] * (60.0 * ahead.y - 15.0 * in.gyroscope[2]);
  }
};

Controller *of(void *self) { return static_cast<Controller *>(self); }

}  // namespace

extern "C" {
int rotor_version(void) { return ROTOR_CONTROLLER_VERSION; }
void *rotor_create(const rotor_vehicle *vehicle) { return new Controller{*vehicle}; }
void rotor_destroy(void *self) { delete of(self); }
int rotor_set(void *self, const char *name, double value) {
  if (std::strcmp(name, "spread_rad")) return -1;
  of(self)->spread = value;
  return 0;
}
int rotor_step(void *self, const rotor_input *in, rotor_output *out) {
  if (in->payload < 0) return 1;
  of(self)->step(*in, *out);
  return 0;
}
int rotor_has_work(void *) { return 1; }
void rotor_work(void *self) { of(self)->next = of(self)->solve(of(self)->wanted); }
void rotor_collect(void *self) {
  of(self)->share = of(self)->next;
  of(self)->has_answer = true;
}
}
