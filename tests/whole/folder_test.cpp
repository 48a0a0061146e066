// Folders of dumps: what their names say, and the judgement of neighbours, one of them wrong by hand.
#include "retile/whole/folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

std::string example(const std::string& name) {
  std::ifstream file(std::string(RETILE_EXAMPLES) + "/whole/" + name);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

const std::string module_name = "module_0000.jit_f.";
const std::string before_partitioner =
    module_name + "0003.spmd-partitioner.after_shardy-xla.before_spmd-partitioning.txt";
const std::string after_partitioner =
    module_name + "0006.spmd-partitioner.after_spmd-partitioning.before_control-dep-rewriter.txt";

/// A folder that lies in memory.
struct Folder {
  std::map<std::string, std::string> texts;

  [[nodiscard]] DumpedModule only() const {
    std::vector<std::string> files;
    for (const auto& [file, text] : texts) files.push_back(file);
    const std::vector<DumpedModule> modules = dumped_modules(files);
    EXPECT_EQ(modules.size(), 1U);
    return modules.empty() ? DumpedModule() : modules.front();
  }
  [[nodiscard]] ReadDump reader() const {
    return [this](const std::string& file) -> Result<std::string> { return texts.at(file); };
  }
  [[nodiscard]] static ValidatePair validator() {
    return [](const std::string& before, const Dump& first, const std::string& after,
              const Dump& second) {
      return validate(before, first.file, after, second.file, {.seed = 1});
    };
  }
  [[nodiscard]] JudgedModule around_partitioner() const {
    return judged_around_partitioner(only(), reader(), validator());
  }
  [[nodiscard]] JudgedModule by_passes() const {
    return judged_by_passes(only(), reader(), validator());
  }
};

Folder folder_of_layer() {
  const std::string after = example("layer.after.hlo");
  return {{{before_partitioner, example("layer.before.hlo")},
           {after_partitioner, after},
           {module_name + "0007.simplification.after_pipeline-start.before_algsimp.txt", after},
           {module_name + "0010.copy-insertion.after_adding_copies.txt",
            with(after, " tanh(", " negate(")}}};
}

TEST(Folder, names_say_module_number_and_passes) {
  const std::vector<DumpedModule> modules = dumped_modules(
      {"module_0002.jit__lambda.0001.spmd.after_a.b.before_c.txt",
       "module_0000.jit_f.debug_options", "module_0000.jit_f.sm_9.0_gpu_after_optimizations.txt",
       "module_0000.jit_f.10000.late.after_z.txt", before_partitioner,
       "module_0000.jit_f.0002.spmd-partitioner.after_pipeline-start.before_x.txt",
       "module_0000.jit_f.cpu_after_optimizations-buffer-assignment.txt",
       "module_0000.jit_f.before_optimizations.txt", "shardy", "notes.txt", "module_x.f.txt"});
  ASSERT_EQ(modules.size(), 2U);
  EXPECT_EQ(modules[0].name, "module_0000 jit_f");
  std::vector<std::string> order;
  for (const Dump& text : modules[0].texts) order.push_back(text.after + "|" + text.before);
  EXPECT_EQ(order,
            (std::vector<std::string>{"|optimizations", "pipeline-start|x",
                                      "shardy-xla|spmd-partitioning", "z|", "optimizations|"}));
  EXPECT_EQ(modules[1].name, "module_0002 jit__lambda");
  EXPECT_EQ(modules[1].texts.front().after, "a.b");
  EXPECT_EQ(modules[1].texts.front().pipeline, "spmd");
}

TEST(Folder, the_pair_around_the_partitioner_is_taken) {
  Folder folder = folder_of_layer();
  const JudgedModule judged = folder.around_partitioner();
  ASSERT_EQ(judged.pairs.size(), 1U);
  EXPECT_EQ(judged.pairs[0].before.file, before_partitioner);
  EXPECT_EQ(judged.pairs[0].after.file, after_partitioner);
  EXPECT_EQ(judged.answer(), Answer::right);
  std::string& after = folder.texts.at(after_partitioner);
  after = with(after, " all-reduce(", " copy(");
  EXPECT_EQ(folder.around_partitioner().answer(), Answer::wrong);
  folder.texts.erase(after_partitioner);
  EXPECT_EQ(folder.around_partitioner().missing, "no text after_spmd-partitioning");
}

TEST(Folder, without_that_pair_the_texts_before_and_after_all_passes_are) {
  Folder folder{{{module_name + "before_optimizations.txt", example("layer.before.hlo")},
                 {module_name + "cpu_after_optimizations.txt", example("layer.after.hlo")}}};
  EXPECT_EQ(folder.around_partitioner().answer(), Answer::right);
  std::string& after = folder.texts.at(module_name + "cpu_after_optimizations.txt");
  after = with(after, " all-reduce(", " copy(");
  EXPECT_EQ(folder.around_partitioner().answer(), Answer::wrong);
  folder.texts.erase(module_name + "before_optimizations.txt");
  EXPECT_EQ(folder.around_partitioner().missing, "no text before_spmd-partitioning");
}

TEST(Folder, a_later_pass_that_is_wrong_is_named) {
  const Folder folder = folder_of_layer();
  const JudgedModule judged = folder.by_passes();
  EXPECT_EQ(judged.answer(), Answer::wrong);
  ASSERT_EQ(judged.pairs.size(), 2U);
  EXPECT_EQ(judged.pairs[0].pass, "spmd-partitioning");
  EXPECT_EQ(judged.pairs[0].validation->answer, Answer::right);
  EXPECT_EQ(judged.pairs[1].pass, "adding_copies");
  EXPECT_EQ(judged.equal, 1U);
}

TEST(Folder, a_text_that_is_not_read_is_stepped_over) {
  Folder folder = folder_of_layer();
  const std::string unread = module_name + "0008.simplification.after_algsimp.before_dce.txt";
  folder.texts[unread] = with(folder.texts.at(after_partitioner), " tanh(", " frobnicate(");
  const JudgedModule wrong = folder.by_passes();
  EXPECT_EQ(wrong.answer(), Answer::wrong);
  ASSERT_EQ(wrong.pairs.size(), 3U);
  EXPECT_TRUE(wrong.pairs[1].refused);
  EXPECT_EQ(wrong.pairs[1].after.file, unread);
  // The last text that was read comes before it.
  EXPECT_NE(wrong.pairs[2].before.file, unread);
  // Any pass since then may be the wrong one.
  EXPECT_EQ(wrong.pairs[1].pass, "algsimp");
  EXPECT_EQ(wrong.pairs[2].pass, "algsimp or adding_copies");
  std::string& last = folder.texts.at(module_name + "0010.copy-insertion.after_adding_copies.txt");
  last = with(last, " negate(", " tanh(");
  EXPECT_EQ(folder.by_passes().answer(), Answer::right);
  // What nothing is compared with that follows is no part of a "right".
  folder.texts[module_name + "0011.x.after_last.txt"] = folder.texts.at(unread);
  EXPECT_EQ(folder.by_passes().answer(), Answer::undecided);
}

TEST(Folder, of_many_passes_whose_texts_are_not_read_the_first_and_the_last_are_named) {
  Folder folder = folder_of_layer();
  for (const std::string pass : {"a", "b", "c"}) {
    folder.texts[module_name + "0008.x.after_" + pass + ".before_y.txt"] =
        with(folder.texts.at(after_partitioner), " tanh(", " frobnicate(");
  }
  const JudgedModule wrong = folder.by_passes();
  EXPECT_EQ(wrong.pairs.back().pass, "one of 4 passes, a to adding_copies");
  // A text that is read, be it equal to the last one, ends what may be.
  folder.texts[module_name + "0009.x.after_read.txt"] = folder.texts.at(after_partitioner);
  EXPECT_EQ(folder.by_passes().pairs.back().pass, "adding_copies");
}

}  // namespace
}  // namespace retile::whole::tests
