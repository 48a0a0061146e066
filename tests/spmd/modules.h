// Modules that several tests read.
#pragma once

#include <string>
#include <vector>

namespace retile::spmd::test {

struct Named {
  std::string name;
  std::string text;
};

/// All are right.
inline const std::vector<Named>& modules() {
  static const std::vector<Named> all = {
      {"rows", R"(retile.spmd/1
mesh devices:4
fn main(x : [2{devices}8, 6], p : [6, 3]) -> [2{devices}8, 3]
y = spmd x p { einsum "ik,kj->ij" } as [2{devices}8, 3]
return y
denotes einsum "ik,kj->ij" x p
)"},
      {"chain", R"(retile.spmd/1
mesh devs:4
fn main(x : [4, 8], w1 : [8, 2{devs}8], w2 : [8, 3]) -> [1{devs}4, 3]
y = spmd x w1 { einsum "ik,kj->ij" } as [4, 2{devs}8]
z = redistribute y as [1{devs}4, 8]
w = spmd z w2 { einsum "ik,kj->ij" } as [1{devs}4, 3]
return w
denotes einsum "ik,kj->ij" (einsum "ik,kj->ij" x w1) w2
)"},
      {"dot", R"(retile.spmd/1
mesh d:4
fn main(x : [4, 2{d}8], w : [2{d}8, 4]) -> [1{d}4, 4]
y = spmd x w { einsum "ik,kj->ij" } as sum{d}[4, 4]
z = redistribute y as [1{d}4, 4]   # a reducescatter
return z
denotes einsum "ik,kj->ij" x w
)"},
      {"stencil", R"(retile.spmd/1
mesh i:4
fn main(x : [3{i}12]) -> [3{i}10]
h = redistribute x as [3{i}12<0,2>]
r = spmd h {
  a = trim 0 1 1 h
  b = scale -2 a

  c = add (trim 0 0 2 h) (trim 0 2 0 h)   # both ends
  d = add b c
  return d
} as [3{i}10]
return r
denotes add (sub (trim 0 0 2 x) (scale 2 (trim 0 1 1 x))) (trim 0 2 0 x)
)"},
      {"convolution", R"(retile.spmd/1
mesh i:2,k:2
fn main(x : [9], w : [4]) -> sum{k}[3{i}6]
x1 = redistribute x as tile=[4] global=[9] at=[[0],[2],[3],[5]]
w1 = redistribute w as [2{k}4]
r = spmd x1 w1 { einsum "i+k,k->i" } as sum{k}[3{i}6]
return r
denotes einsum "i+k,k->i" x w
)"},
      {"uneven", R"(retile.spmd/1
mesh i:3,k:4
fn main(a : [3{i}7, 2{k}5], b : [2{k}5, 6]) -> [7, 6]
r = spmd a b { einsum "ik,kj->ij" } as sum{k}[3{i}7, 6]
s = redistribute r as [7, 6]
return s
denotes einsum "ik,kj->ij" a b
)"},
      {"dealt", R"(retile.spmd/1
mesh x:2,y:2
fn main(a : [2@{x}7, 3{y}3+2], w : [3{y}3+2, 4]) -> [2{y,x}7, 4]
p = spmd a w { einsum "ik,kj->ij" } as sum{y}[2@{x}7, 4]
q = redistribute p as [4{x}4+3, 4]
r = spmd q { scale -2 q } as [4{x}4+3, 4]
s = redistribute r as [2{y,x}7, 4]
return s
denotes scale -2 (einsum "ik,kj->ij" a w)
)"},
      {"partial", R"(retile.spmd/1
mesh x:2,y:2
fn main(x : sum{x,y}[3]) -> [3]
a = redistribute x as sum{x}[3]
b = spmd a { scale -3 a } as sum{x}[3]
c = redistribute b as [3]
return c
denotes scale -3 x
)"},
      {"maxima", R"(retile.spmd/1
mesh x:2,y:2
fn main(x : [4, 2{x}4]) -> [2{x}4]
a = spmd x { reduce_max 1 } as max{x}[4]
b = redistribute a as [2{x}4]
c = spmd b { max b (neg b) (fill 1 b) } as [2{x}4]
return c
denotes max (reduce_max 1 x) (neg (reduce_max 1 x)) (fill 1 (reduce_max 1 x))
)"},
      {"turned", R"(retile.spmd/1
mesh x:2,y:3 order=[5,0,3,1,4,2]
fn main(x : [2{x}3, 3{y}8]) -> [8, 2{x}3]
t = spmd x { transpose [1,0] } as [3{y}8, 2{x}3]
s = spmd x { mul x x } as [2{x}3, 3{y}8]
q = spmd s { transpose [1,0] (sub s s) } as [3{y}8, 2{x}3]
w = spmd t q { sub t q } as [3{y}8, 2{x}3]
r = redistribute w as [8, 2{x}3]
return r
denotes transpose [1,0] x
)"},
      {"cube", R"(retile.spmd/1
mesh d:3
fn main(x : [2, 1{d}3, 4]) -> [1{d}3, 4, 2]
y = spmd x { transpose [1,2,0] } as [1{d}3, 4, 2]
return y
denotes einsum "ijk->jki" x
)"},
      {"strides", R"(retile.spmd/1
mesh d:2
fn main(x : [9], w : [3]) -> [2{d}4]
a = redistribute x as tile=[5] global=[9] at=[[0],[4]]
y = spmd a w { add (einsum "2i+k,k->i" a w) (einsum "2i->i" (trim 0 1 1 a)) } as [2{d}4]
return y
denotes add (einsum "2i+k,k->i" x w) (einsum "2i->i" (trim 0 1 1 x))
)"},
      {"gathered", R"(retile.spmd/1
mesh d:2
fn main(t : [2{d}4, 3], c : [2{d}4] below 4, v : [2{d}4]) -> [3]
a = redistribute t as [4, 3]
y = spmd a c v { einsum "ij,i->j" (take 0 a c) v } as sum{d}[3]
z = redistribute y as [3]
return z
denotes einsum "ij,i->j" (take 0 t c) v
)"},
      {"sums", R"(retile.spmd/1
mesh x:2
fn main(x : [3, 2{x}4], s : []) -> [3]
a = spmd x { reduce_sum 1 } as sum{x}[3]
b = redistribute a as [3]
c = spmd b s { einsum "i,->i" b s } as [3]
return c
denotes einsum "ik,->i" x s
)"},
  };
  return all;
}

inline std::string module_named(const std::string& name) {
  for (const Named& module : modules()) {
    if (module.name == name) return module.text;
  }
  return {};
}

inline std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? "no " + what : text.replace(at, what.size(), by);
}

}  // namespace retile::spmd::test
