// The processes of a job, as a run sees them: how they agree and what they send each other. One
// process is a job, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "retile/core/result.h"

namespace retile {

/// One process's view. All but send() and receive() are collective, and made in the same order
/// everywhere. Where an error of the means by which they talk cannot be told to the others, it ends
/// the whole job with a message.
class Processes {
 public:
  Processes() = default;
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  virtual ~Processes() = default;

  [[nodiscard]] virtual int process() const = 0;  ///< 0 .. processes() - 1
  [[nodiscard]] virtual int processes() const = 0;
  [[nodiscard]] bool is_first() const { return process() == 0; }

  /// One outcome for all: nothing where every process succeeded, else on all the error of the lowest
  /// one that failed, with its number as a note.
  [[nodiscard]] virtual Result<void> agree(const Result<void>& mine) const = 0;
  virtual void barrier() const = 0;
  /// What one process gave, on all.
  [[nodiscard]] virtual std::string broadcast(const std::string& text, int root) const = 0;
  [[nodiscard]] virtual std::uint64_t broadcast(std::uint64_t number, int root) const = 0;
  /// Whether each process said yes.
  [[nodiscard]] virtual std::vector<bool> gather(bool mine) const = 0;
  /// Componentwise over all processes, in place.
  virtual void maximum(std::span<std::uint64_t> numbers) const = 0;
  virtual void sum(std::span<std::uint64_t> numbers) const = 0;
  [[nodiscard]] virtual double maximum(double number) const = 0;

  /// At most 2^30 bytes, which the other one expects.
  virtual void send(std::span<const std::byte> bytes, int target) const = 0;
  virtual void receive(std::span<std::byte> bytes, int source) const = 0;
};

/// One process that is the whole job.
class OneProcess final : public Processes {
 public:
  [[nodiscard]] int process() const override { return 0; }
  [[nodiscard]] int processes() const override { return 1; }
  [[nodiscard]] Result<void> agree(const Result<void>& mine) const override { return mine; }
  void barrier() const override {}
  [[nodiscard]] std::string broadcast(const std::string& text, int) const override { return text; }
  [[nodiscard]] std::uint64_t broadcast(std::uint64_t number, int) const override { return number; }
  [[nodiscard]] std::vector<bool> gather(bool mine) const override { return {mine}; }
  void maximum(std::span<std::uint64_t>) const override {}
  void sum(std::span<std::uint64_t>) const override {}
  [[nodiscard]] double maximum(double number) const override { return number; }
  void send(std::span<const std::byte>, int) const override {}  // there is nobody to send to
  void receive(std::span<std::byte>, int) const override {}
};

}  // namespace retile
