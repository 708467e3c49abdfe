; what JavaScript and TypeScript have in common
[(arrow_function) (function_expression) (generator_function)] @lambda

; variables: symbols at the top level, locals in functions. One that holds a function or class is that function or class
(variable_declarator name: (identifier) @name !value) @def.variable
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @name @member @def.variable) value: (_) @value)
(variable_declarator name: (object_pattern (pair_pattern key: (property_identifier) @member value: (identifier) @name @def.variable))
  value: (_) @value)
(variable_declarator
  name: (object_pattern (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name @member @def.variable)) value:
  (_) @value)
(variable_declarator name: (object_pattern (rest_pattern (identifier) @name @def.variable)))
(variable_declarator name: (array_pattern (identifier) @name @def.variable))
(for_in_statement left: (identifier) @loop right: (_) @value)
(for_in_statement left: [(array_pattern (identifier) @local) (object_pattern (shorthand_property_identifier_pattern) @local)])
(catch_clause parameter: (identifier) @local)
(arrow_function parameter: (identifier) @param)

; fields: this.x = …
(assignment_expression left: (member_expression object: (this) @self property: [(property_identifier)
  (private_property_identifier)] @name) right: (_) @value) @def.field

; classes that are assigned under their own name
(program (expression_statement (assignment_expression right: (class name: (_) @name body: (_) @body)) @def.class))

; what is exported by assignment
((assignment_expression left: (member_expression object: (_) @_exports property: (property_identifier)) @name right:
  (_) @value) @def.variable
  (#match? @_exports "^(module\\.)?exports$")
  (#not-match? @value "^([\\w$]+|require\\b[^;]*|(async\\s+)?function\\b[^;]*|module\\.exports.*)$")
  (#not-match? @value "^class\\s+[\\w$]"))
((assignment_expression left: (member_expression object: (_) @_exports property: (property_identifier) @alias) right:
  (identifier) @imported) @import @export
  (#match? @_exports "^(module\\.)?exports$"))
((assignment_expression left: (member_expression) @_module right: (identifier) @imported) @import @export @default
  (#eq? @_module "module.exports"))
((assignment_expression left: (member_expression) @_module right: (object (shorthand_property_identifier) @imported)) @import @export
  (#eq? @_module "module.exports"))
((assignment_expression
  left: (member_expression) @_module right: (object (pair key: (property_identifier) @alias value: (identifier) @imported))) @import @export
  (#eq? @_module "module.exports"))
((assignment_expression
  left: (member_expression) @_module right: [(function_expression name: (identifier) @imported) (class name:
  (_) @imported)]) @import @export @default
  (#eq? @_module "module.exports"))
((variable_declarator
  name: (identifier) @imported value: (parenthesized_expression (assignment_expression left:
  (member_expression) @_module))) @import @export @default
  (#eq? @_module "module.exports"))
((variable_declarator
  name: (identifier) @imported value: (assignment_expression left: (member_expression) @_module)) @import @export @default
  (#eq? @_module "module.exports"))
((variable_declarator
  name: (identifier) @imported
  value: (assignment_expression right: (assignment_expression left: (member_expression) @_module))) @import @export @default
  (#eq? @_module "module.exports"))

; require
((variable_declarator
  name: (identifier) @alias @default value: (call_expression function: (identifier) @_require arguments: (arguments .
  (string) @module))) @import
  (#eq? @_require "require"))
((variable_declarator
  name: (object_pattern (shorthand_property_identifier_pattern) @imported)
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))) @import
  (#eq? @_require "require"))
((variable_declarator
  name: (object_pattern (pair_pattern key: (property_identifier) @imported value: (identifier) @alias))
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))) @import
  (#eq? @_require "require"))
((variable_declarator
  name: (identifier) @alias
  value: (member_expression
    object: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module)) property:
  (property_identifier) @imported)) @import
  (#eq? @_require "require"))
((assignment_expression
  left: (member_expression property: (property_identifier) @alias)
  right: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))) @import @export @default
  (#eq? @_require "require"))
((pair
  key: (property_identifier) @alias
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))) @import @export @default
  (#eq? @_require "require"))
((expression_statement (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))) @import @default
  (#eq? @_require "require"))
((call_expression
  function: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))) @import @default
  (#eq? @_require "require"))
((arguments (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))) @import @default
  (#eq? @_require "require"))

; import and export
(import_statement (import_clause (identifier) @alias @default) source: (string) @module) @import
(import_statement (import_clause (named_imports (import_specifier name: _ @imported !alias))) source: (string) @module) @import
(import_statement (import_clause (named_imports (import_specifier name: _ @imported alias: (_) @alias))) source: (string) @module) @import
(import_statement (import_clause (namespace_import (identifier) @alias)) source: (string) @module) @import
(import_statement . "import" . source: (string) @module) @import
(call_expression function: (import) arguments: (arguments . (string) @module)) @import
(export_statement "*" @imported source: (string) @module) @import @export
(export_statement (namespace_export (_) @alias) source: (string) @module) @import @export
(export_statement (export_clause (export_specifier name: _ @imported !alias)) source: (string) @module) @import @export
(export_statement (export_clause (export_specifier name: _ @imported alias: (_) @alias)) source: (string) @module) @import @export
(export_statement (export_clause (export_specifier name: _ @imported !alias)) !source) @import @export
(export_statement (export_clause (export_specifier name: _ @imported alias: (_) @alias)) !source) @import @export
(export_statement "default" @default value: (identifier) @imported) @import @export
(export_statement
  "default" @default
  declaration: [
    (function_declaration name: (_) @imported) (generator_function_declaration name: (_) @imported) (class_declaration name: (_) @imported)
  ]) @import @export

; calls
((call_expression function: (identifier) @call arguments: (arguments) @args) (#not-eq? @call "require"))
(call_expression function: [(member_expression) (super)] @call arguments: (arguments) @args)
(call_expression function: [(identifier) (member_expression)] @call arguments: (template_string))
(new_expression constructor: [(identifier) (member_expression)] @new arguments: (arguments)? @args)
(throw_statement (new_expression constructor: [(identifier) (member_expression)] @throw))
(throw_statement (identifier) @throw)
(decorator [(identifier) (member_expression) (call_expression)] @decorator)

; results
(return_statement [(identifier) (member_expression) (call_expression) (new_expression) (await_expression) (this)
  (parenthesized_expression)] @return)
(arrow_function body: [(identifier) (member_expression) (call_expression) (new_expression) (await_expression) (this)] @return)

; names
(member_expression) @access
(member_expression object: (identifier) @mention)
(subscript_expression object: (identifier) @mention)
(subscript_expression index: (identifier) @mention)
(arguments (identifier) @mention)
(pair value: (identifier) @mention)
(object (shorthand_property_identifier) @mention)
(variable_declarator value: (identifier) @mention)
(assignment_expression right: (identifier) @mention)
(augmented_assignment_expression right: (identifier) @mention)
(return_statement (identifier) @mention)
(arrow_function body: (identifier) @mention)
(binary_expression (identifier) @mention)
(unary_expression (identifier) @mention)
(ternary_expression (identifier) @mention)
(parenthesized_expression (identifier) @mention)
(array (identifier) @mention)
(spread_element (identifier) @mention)
(template_substitution (identifier) @mention)
(await_expression (identifier) @mention)
(yield_expression (identifier) @mention)
(for_in_statement right: (identifier) @mention)
(assignment_pattern right: (identifier) @mention)
(object_assignment_pattern right: (identifier) @mention)
(computed_property_name (identifier) @mention)
(sequence_expression (identifier) @mention)
