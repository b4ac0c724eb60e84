// How fast compiled code can be: quadrotors with rotor lag and drag, free or holding a rigid payload on taut cables. No guards, no events, no projection.
//
// Classical RK4 on positions, velocities, quaternions, body rates and rotor speeds. The accelerations of the payload
// solve one 6 x 6 system per evaluation (cable directions eliminated), which is the fastest form for up to six cables.
// Build: g++ -O2 -shared -fPIC kernel.cpp -o kernel.so
#include <cmath>

namespace {

constexpr int most = 8;    // vehicles
constexpr int body = 13;   // p v q w
constexpr int craft = 17;  // p v q w and four rotor speeds

}  // namespace

extern "C" struct Parameters {
  int vehicles;  // 0: one free vehicle
  double payload_mass, payload_inertia[3], points[most][3];
  double mass, inertia[3], arm, thrust, torque, lag, drag[3], gravity;
};

namespace {

struct Vector {
  double x, y, z;
};
inline Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vector operator*(double s, Vector a) { return {s * a.x, s * a.y, s * a.z}; }
inline double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vector cross(Vector a, Vector b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline Vector load(const double* p) { return {p[0], p[1], p[2]}; }
inline void store(double* p, Vector a) { p[0] = a.x, p[1] = a.y, p[2] = a.z; }

struct Rotation {
  Vector a, b, c;  // rows
};
inline Rotation rotation(const double* q) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  return {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
          {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
          {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
}
inline Vector operator*(const Rotation& R, Vector v) { return {dot(R.a, v), dot(R.b, v), dot(R.c, v)}; }
inline Vector back(const Rotation& R, Vector v) { return v.x * R.a + v.y * R.b + v.z * R.c; }

inline void turn(const double* q, Vector w, double* out) {
  out[0] = 0.5 * (-q[1] * w.x - q[2] * w.y - q[3] * w.z);
  out[1] = 0.5 * (q[0] * w.x + q[2] * w.z - q[3] * w.y);
  out[2] = 0.5 * (q[0] * w.y + q[3] * w.x - q[1] * w.z);
  out[3] = 0.5 * (q[0] * w.z + q[1] * w.y - q[2] * w.x);
}

// Everything of a vehicle but its acceleration; returns the force of rotors and drag in the world.
inline Vector vehicle(const Parameters& p, const double* y, const double* command, double* d) {
  const Rotation R = rotation(y + 6);
  const Vector v = load(y + 3), w = load(y + 10);
  double f[4];
  for (int k = 0; k < 4; ++k) {
    f[k] = p.thrust * y[13 + k] * y[13 + k];
    d[13 + k] = (command[k] - y[13 + k]) * (1.0 / p.lag);
  }
  const double side = p.arm * 0.70710678118654752;
  const Vector moment{side * (f[0] + f[1] - f[2] - f[3]), side * (-f[0] + f[1] + f[2] - f[3]),
                      p.torque * (-f[0] + f[1] - f[2] + f[3])};
  const Vector J = load(p.inertia), air = back(R, v);
  const Vector spin = cross(w, {J.x * w.x, J.y * w.y, J.z * w.z});
  store(d, v);
  turn(y + 6, w, d + 6);
  store(d + 10, {(moment.x - spin.x) / J.x, (moment.y - spin.y) / J.y, (moment.z - spin.z) / J.z});
  return R * Vector{-p.drag[0] * air.x, -p.drag[1] * air.y, f[0] + f[1] + f[2] + f[3] - p.drag[2] * air.z};
}

// Slope of payload (first) and vehicles; all cables are taut.
inline void slope(const Parameters& p, const double* y, const double* command, double* d) {
  const int n = p.vehicles;
  if (n == 0) {
    const Vector force = vehicle(p, y, command, d);
    store(d + 3, 1.0 / p.mass * force - Vector{0, 0, p.gravity});
    return;
  }
  const Rotation R = rotation(y + 6);
  const Vector x = load(y), v = load(y + 3), w = load(y + 10), J = load(p.payload_inertia);
  const Vector spin = cross(w, {J.x * w.x, J.y * w.y, J.z * w.z});
  double A[6][6] = {}, b[6] = {0, 0, -p.payload_mass * p.gravity, -spin.x, -spin.y, -spin.z};
  for (int i = 0; i < 3; ++i) A[i][i] = p.payload_mass;
  A[3][3] = J.x, A[4][4] = J.y, A[5][5] = J.z;
  Vector along[most], force[most];
  double row[most][6], pull[most];
  for (int k = 0; k < n; ++k) {
    const double* z = y + body + craft * k;
    force[k] = vehicle(p, z, command + 4 * k, d + body + craft * k);
    const Vector r = load(p.points[k]), swing = cross(w, r);
    const Vector apart = load(z) - x - R * r, apart_dot = load(z + 3) - v - R * swing;
    const double inverse = 1.0 / std::sqrt(dot(apart, apart));
    const Vector e = inverse * apart;
    const double closing = dot(e, apart_dot);
    const double whirl = (dot(apart_dot, apart_dot) - closing * closing) * inverse;
    const Vector arm = cross(r, back(R, e));
    along[k] = e;
    const double entries[6] = {e.x, e.y, e.z, arm.x, arm.y, arm.z};
    pull[k] = dot(force[k], e) - p.mass * (p.gravity * e.z + dot(e, R * cross(w, swing)) - whirl);
    for (int i = 0; i < 6; ++i) {
      row[k][i] = entries[i];
      b[i] += entries[i] * pull[k];
      for (int j = 0; j <= i; ++j) A[i][j] += p.mass * entries[i] * entries[j];
    }
  }
  double inverse[6];
  for (int j = 0; j < 6; ++j) {
    double pivot = A[j][j];
    for (int m = 0; m < j; ++m) pivot -= A[j][m] * A[j][m];
    inverse[j] = 1.0 / std::sqrt(pivot);
    for (int i = j + 1; i < 6; ++i) {
      double value = A[i][j];
      for (int m = 0; m < j; ++m) value -= A[i][m] * A[j][m];
      A[i][j] = value * inverse[j];
    }
  }
  for (int i = 0; i < 6; ++i) {
    for (int m = 0; m < i; ++m) b[i] -= A[i][m] * b[m];
    b[i] *= inverse[i];
  }
  for (int i = 5; i >= 0; --i) {
    for (int m = i + 1; m < 6; ++m) b[i] -= A[m][i] * b[m];
    b[i] *= inverse[i];
  }
  store(d, v);
  store(d + 3, {b[0], b[1], b[2]});
  turn(y + 6, w, d + 6);
  store(d + 10, {b[3], b[4], b[5]});
  for (int k = 0; k < n; ++k) {
    double tension = pull[k];
    for (int i = 0; i < 6; ++i) tension -= p.mass * row[k][i] * b[i];
    store(d + body + craft * k + 3, 1.0 / p.mass * (force[k] - tension * along[k]) - Vector{0, 0, p.gravity});
  }
}

inline void normalize(double* q) {
  const double s = 1.0 / std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (int i = 0; i < 4; ++i) q[i] *= s;
}

}  // namespace

// State: payload, then vehicles; or one vehicle alone. Commands: four rotor speeds each.
extern "C" void run(const Parameters* parameters, double* y, const double* command, double h, long steps) {
  const Parameters& p = *parameters;
  const int n = p.vehicles ? body + craft * p.vehicles : craft;
  double k1[body + craft * most], k2[body + craft * most], k3[body + craft * most], k4[body + craft * most],
      z[body + craft * most];
  for (long step = 0; step < steps; ++step) {
    slope(p, y, command, k1);
    for (int i = 0; i < n; ++i) z[i] = y[i] + 0.5 * h * k1[i];
    slope(p, z, command, k2);
    for (int i = 0; i < n; ++i) z[i] = y[i] + 0.5 * h * k2[i];
    slope(p, z, command, k3);
    for (int i = 0; i < n; ++i) z[i] = y[i] + h * k3[i];
    slope(p, z, command, k4);
    for (int i = 0; i < n; ++i) y[i] += h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]);
    normalize(y + 6);
    for (int k = 0; k < p.vehicles; ++k) normalize(y + body + craft * k + 6);
  }
}
