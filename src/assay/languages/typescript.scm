; definitions
(function_declaration name: (identifier) @name return_type: (_)? @type body: (_) @body) @def.function
(generator_function_declaration name: (identifier) @name return_type: (_)? @type body: (_) @body) @def.function
(function_signature name: (identifier) @name return_type: (_)? @type) @def.function
(class_declaration name: (type_identifier) @name body: (_) @body) @def.class
(abstract_class_declaration name: (type_identifier) @name body: (_) @body) @def.class
(export_statement (decorator) declaration: [
  (class_declaration name: (type_identifier) @name body: (_) @body) (abstract_class_declaration name: (type_identifier) @name body:
  (_) @body)]) @def.class
(export_statement "default" @name value: [
  (function_expression !name return_type: (_)? @type body: (_) @body) (generator_function !name return_type: (_)? @type body: (_) @body)
  (arrow_function return_type: (_)? @type body: (_) @body)]) @def.function
(export_statement "default" @name value: (class !name body: (_) @body)) @def.class
(export_statement "default" @default declaration: (abstract_class_declaration name: (_) @imported)) @import @export
(export_statement "=" @default (identifier) @imported) @import @export
(import_statement (import_require_clause (identifier) @alias @default source: (string) @module)) @import

(class_body (method_definition name: (_) @name return_type: (_)? @type body: (_) @body) @def.function)
(class_body (method_definition ["get" "set"] name: (_) @name return_type: (_)? @type body: (_) @body) @def.property)
(class_body (method_signature name: (_) @name return_type: (_)? @type) @def.function)
(class_body (abstract_method_signature name: (_) @name return_type: (_)? @type) @def.function)
(class_body (public_field_definition name: (_) @name type: (_)? @type value: (_)? @value) @def.field)
(class_body (public_field_definition name: (_) @name value: [
  (arrow_function return_type: (_)? @type body: (_) @body) (function_expression return_type: (_)? @type body: (_) @body)]) @def.function)
((required_parameter (accessibility_modifier) pattern: (identifier) @name @self type: (_)? @type value: (_)? @value) @def.field)
((required_parameter "readonly" pattern: (identifier) @name @self type: (_)? @type value: (_)? @value) @def.field)
(optional_parameter (accessibility_modifier) pattern: (identifier) @name @self type: (_)? @type) @def.field
(extends_clause value: [(identifier) (member_expression) (call_expression)] @base)
(implements_clause [(type_identifier) (nested_type_identifier) (generic_type)] @implements)

(interface_declaration name: (type_identifier) @name body: (_) @body) @def.interface
(extends_type_clause [(type_identifier) (nested_type_identifier) (generic_type)] @base)
(interface_body (property_signature name: (_) @name type: (_)? @type) @def.field)
(interface_body (method_signature name: (_) @name return_type: (_)? @type) @def.function)
(type_alias_declaration name: (type_identifier) @name value: (_) @type) @def.type
(type_alias_declaration value: (object_type (property_signature name: (_) @name type: (_)? @type) @def.field))
(type_alias_declaration value: (object_type (method_signature name: (_) @name return_type: (_)? @type) @def.function))
(enum_declaration name: (identifier) @name body: (_) @body) @def.enum
(enum_body (property_identifier) @name @def.constant)
(enum_body (enum_assignment name: (_) @name) @def.constant)
(internal_module name: (_) @name body: (_) @body) @def.module
(module name: (identifier) @name body: (_) @body) @def.module

(variable_declarator name: (identifier) @name type: (_)? @type value: (_) @value) @def.variable
(variable_declarator name: (identifier) @name type: (_) @type !value) @def.variable
(variable_declarator name: (identifier) @name value: [
  (arrow_function return_type: (_)? @type body: (_) @body) (function_expression return_type: (_)? @type body: (_) @body)
  (generator_function return_type: (_)? @type body: (_) @body)]) @def.function @bound
(variable_declarator name: (identifier) @name value: (class body: (_) @body)) @def.class @bound
(variable_declarator value: (object (method_definition name: (_) @name return_type: (_)? @type body: (_) @body) @def.function @bound))
(variable_declarator value: (object (method_definition ["get" "set"] name: (_) @name return_type: (_)? @type body:
  (_) @body) @def.property @bound))
(variable_declarator value: (object (pair key: (property_identifier) @name value: [
  (arrow_function return_type: (_)? @type body: (_) @body) (function_expression return_type: (_)? @type body:
  (_) @body)]) @def.function @bound))
(variable_declarator value: [(as_expression (object [
    (method_definition name: (_) @name return_type: (_)? @type body: (_) @body)
    (pair key: (property_identifier) @name value: (arrow_function return_type: (_)? @type body: (_) @body))] @def.function @bound))
  (satisfies_expression (object [
    (method_definition name: (_) @name return_type: (_)? @type body: (_) @body)
    (pair key: (property_identifier) @name value: (arrow_function return_type: (_)? @type body: (_) @body))] @def.function @bound))])
; functions in an object that is passed to a call: `const Comment = Model.extend({…})`, `export default define({…})`
(program [
  (lexical_declaration (variable_declarator value: (call_expression arguments: (arguments (object [
    (method_definition name: (_) @name return_type: (_)? @type body: (_) @body)
    (pair key: (property_identifier) @name value: [
      (arrow_function return_type: (_)? @type body: (_) @body) (function_expression return_type: (_)? @type body: (_) @body)])
  ] @def.function @bound)))))
  (export_statement (lexical_declaration (variable_declarator value: (call_expression arguments: (arguments (object [
    (method_definition name: (_) @name return_type: (_)? @type body: (_) @body)
    (pair key: (property_identifier) @name value: [
      (arrow_function return_type: (_)? @type body: (_) @body) (function_expression return_type: (_)? @type body: (_) @body)])
  ] @def.function @bound))))))
  (export_statement value: [
    (object [
      (method_definition name: (_) @name return_type: (_)? @type body: (_) @body)
      (pair key: (property_identifier) @name value: [
        (arrow_function return_type: (_)? @type body: (_) @body) (function_expression return_type: (_)? @type body: (_) @body)])
    ] @def.function)
    (call_expression arguments: (arguments (object [
      (method_definition name: (_) @name return_type: (_)? @type body: (_) @body)
      (pair key: (property_identifier) @name value: [
        (arrow_function return_type: (_)? @type body: (_) @body) (function_expression return_type: (_)? @type body: (_) @body)])
    ] @def.function)))])])
(program (expression_statement (assignment_expression left: (member_expression object: [(identifier) (member_expression)]) @name right: [
  (arrow_function return_type: (_)? @type body: (_) @body) (function_expression return_type: (_)? @type body: (_) @body)]) @def.function))

; parameters
(required_parameter pattern: (identifier) @param type: (_)? @type)
(optional_parameter pattern: (identifier) @param type: (_)? @type)
(required_parameter pattern: (rest_pattern (identifier) @param) type: (_)? @type)
(required_parameter pattern: (object_pattern [
  (shorthand_property_identifier_pattern) @local @member
  (pair_pattern key: (property_identifier) @member value: (identifier) @local)
  (object_assignment_pattern left: (shorthand_property_identifier_pattern) @local @member)]) type: (_)? @type)
(required_parameter pattern: (object_pattern (rest_pattern (identifier) @local)))
(required_parameter pattern: (array_pattern (identifier) @local))
(required_parameter value: (identifier) @mention)
(type_parameter name: (_) @typeparam constraint: (constraint (_) @type)?)

; types
[(type_annotation) (type_arguments) (constraint) (default_type) (type_predicate_annotation) (asserts_annotation)] @hint
(type_alias_declaration value: (_) @hint)
(as_expression [(type_identifier) (nested_type_identifier) (generic_type) (array_type) (union_type) (intersection_type)
  (object_type)] @hint)
(satisfies_expression [(type_identifier) (nested_type_identifier) (generic_type) (array_type) (union_type) (intersection_type)] @hint)
(as_expression . (identifier) @mention)
(non_null_expression (identifier) @mention)
