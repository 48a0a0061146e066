// Planning time of single problems: the paper's examples, and harder ones.
#include <benchmark/benchmark.h>

#include <string>

#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"

namespace {

struct Named {
  const char* name;
  const char* mesh;
  const char* from;
  const char* to;
};

constexpr Named problems[] = {
    {"Listing 3", "devs:32", "[32, 64{devs}2048]", "[1{devs}32, 2048]"},
    {"Example 3.1", "x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]"},
    {"Fig. 13 P1", "a:2,b:2,c:2", "[360, 184{c}368, 320]", "[90{c,a}360, 368, 160{b}320]"},
    {"Fig. 13 P2", "a:2,b:2,c:2", "[80, 40{c}80, 72, 64]", "[40{b}80, 80, 36{c}72, 64]"},
    {"Fig. 13 P3", "a:2,b:2,c:2", "[296, 360, 156{c}312]", "[74{b,c}296, 180{a}360, 312]"},
    {"Fig. 13 P4", "a:2,b:2,c:2", "[8{c}16, 16, 16, 8{a}16, 16, 8{b}16]",
     "[16, 16, 16, 16, 16, 8{a}16]"},
    {"65,536 devices, rank 8", "a:16,b:16,c:16,d:16",
     "[8{b}128, 128, 128, 8{a}128, 128, 8{d}128, 128, 8{c}128]",
     "[128, 128, 128, 128, 128, 128, 8{d}128, 128]"},
    {"107,520 devices, rank 4", "a:32,b:32,c:3,d:5,e:7",
     "[7168{c,d}107520, 107520, 15360{e}107520, 105]",
     "[15360{e}107520, 35840{c}107520, 21504{d}107520, 105]"},
};

void plan(benchmark::State& state, const Named& named) {
  const auto problem = retile::parse_problem(named.mesh, named.from, named.to).value();
  if (!retile::plan(problem).value().optimal) state.SkipWithError("the plan is not proved optimal");
  for (auto _ : state) benchmark::DoNotOptimize(retile::plan(problem));
}

}  // namespace

int main(int argc, char** argv) {
  for (const Named& named : problems) {
    benchmark::RegisterBenchmark(named.name, plan, named)->Unit(benchmark::kMicrosecond);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
