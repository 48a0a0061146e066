// Reads MLIR's text into its tree. Room-internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "retile/foreign/mlir/lexer.h"
#include "retile/foreign/mlir/tree.h"

namespace retile::foreign::mlir {

class Parser {
 public:
  /// \param scope  whose operations' own forms are read
  Parser(const text::Input& input, Span range, operations::Scope scope)
      : scope_(scope), lexer_(input, range) {}

  /// Operations up to the end of the text.
  [[nodiscard]] Ops top();

 private:
  friend class Deeper;

  // values.cpp: attributes and types

  [[nodiscard]] Type type();
  [[nodiscard]] Type tensor(std::size_t begin);
  [[nodiscard]] Type function_type();
  [[nodiscard]] std::vector<Type> types_in_parentheses();
  [[nodiscard]] Type alias_type();
  [[nodiscard]] AttributePtr attribute();
  [[nodiscard]] AttributePtr hash_attribute();
  [[nodiscard]] AttributePtr number_attribute();
  [[nodiscard]] AttributePtr list_attribute();
  [[nodiscard]] AttributePtr word_attribute();
  [[nodiscard]] AttributePtr dense_attribute();
  [[nodiscard]] AttributePtr array_attribute();
  [[nodiscard]] AttributePtr symbol_attribute();
  [[nodiscard]] AttributePtr raw_attribute(std::string_view name);
  /// Numbers as they are written, before it is known of which type they are.
  struct Written {
    std::vector<std::int64_t> numbers;
    std::vector<bool> reals;  ///< which are words of numbers with a point
  };
  void dense_body(Attribute& out);
  void dense_level(Written& out, std::size_t level, Shape& extents);
  void set_words(Attribute& out, const Written& written, const Place& place) const;
  void hex_body(Attribute& out, const LexToken& token);
  void dense_number(Written& out);
  [[nodiscard]] std::int64_t integer();
  /// Behind the opening bracket.
  [[nodiscard]] std::vector<NamedAttribute> dictionary();
  [[nodiscard]] std::string unquoted(const LexToken& token) const;

  // parser.cpp: operations

  [[nodiscard]] Ops ops(std::string_view closing);
  [[nodiscard]] bool alias();
  [[nodiscard]] Op op();
  [[nodiscard]] std::vector<ResultName> results();
  void generic(Op& out);
  [[nodiscard]] Region region(std::vector<Argument> arguments);
  [[nodiscard]] Block block(std::vector<Argument> arguments, bool labelled);
  [[nodiscard]] std::vector<Argument> arguments();
  [[nodiscard]] ValueName value();
  [[nodiscard]] Place location();
  void signature(Op& out);

  // own.cpp: their own forms

  void own(Op& out);
  void module(Op& out);
  void function(Op& out);
  void function_results(Attribute& results, std::vector<Type>& types);
  void manual_computation(Op& out);
  void items(Op& out);
  void constant(Op& out);
  bool item(Op& out);
  void word_item(Op& out);
  void ranges(Op& out);
  void range_list(Op& out);
  void own_types(Op& out);
  [[nodiscard]] AttributePtr own_value(std::string_view key);
  static void put(Op& out, std::string name, AttributePtr value);

  // computing.cpp: own forms of what stands in whole programs alone

  [[nodiscard]] bool computing(Op& out);
  void reduce(Op& out);
  void reducer(Op& out);
  void while_loop(Op& out);
  [[nodiscard]] AttributePtr two_lists(AttributePtr first);
  [[nodiscard]] AttributePtr convolved_dimensions();

  operations::Scope scope_;
  Lexer lexer_;
  std::size_t depth_ = 0;
  std::map<std::string, AttributePtr, std::less<>> attribute_aliases_;
  std::map<std::string, Type, std::less<>> type_aliases_;
};

/// One level more, as long as it lives; refuses too many.
class Deeper {
 public:
  explicit Deeper(Parser& parser);
  ~Deeper() { --parser_.depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  Parser& parser_;
};

}  // namespace retile::foreign::mlir
