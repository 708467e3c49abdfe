; definitions
(function_declaration name: (identifier) @name body: (_) @body) @def.function
(generator_function_declaration name: (identifier) @name body: (_) @body) @def.function
(class_declaration name: (identifier) @name body: (_) @body) @def.class
(export_statement (decorator) declaration: (class_declaration name: (identifier) @name body: (_) @body)) @def.class
(export_statement "default" @name value: [
  (function_expression !name body: (_) @body) (generator_function !name body: (_) @body) (arrow_function body: (_) @body)]) @def.function
(export_statement "default" @name value: (class !name body: (_) @body)) @def.class
(class_body (method_definition name: (_) @name body: (_) @body) @def.function)
(class_body (method_definition ["get" "set"] name: (_) @name body: (_) @body) @def.property)
(class_body (field_definition property: (_) @name value: (_)? @value) @def.field)
(class_body (field_definition property: (_) @name value: [(arrow_function body: (_) @body) (function_expression body:
  (_) @body)]) @def.function)
(class_heritage [(identifier) (member_expression) (call_expression)] @base)

(variable_declarator name: (identifier) @name value: (_) @value) @def.variable
(variable_declarator name: (identifier) @name value: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @def.function @bound
(variable_declarator name: (identifier) @name value: (class body: (_) @body)) @def.class @bound
(variable_declarator value: (object (method_definition name: (_) @name body: (_) @body) @def.function @bound))
(variable_declarator value: (object (method_definition ["get" "set"] name: (_) @name body: (_) @body) @def.property @bound))
(variable_declarator value: (object (pair key: (property_identifier) @name value: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @def.function @bound))

; functions in an object that is passed to a call: `const Comment = Model.extend({…})`, `export default define({…})`
(program [
  (lexical_declaration (variable_declarator value: (call_expression arguments: (arguments (object [
    (method_definition name: (_) @name body: (_) @body)
    (pair key: (property_identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
  ] @def.function @bound)))))
  (variable_declaration (variable_declarator value: (call_expression arguments: (arguments (object [
    (method_definition name: (_) @name body: (_) @body)
    (pair key: (property_identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
  ] @def.function @bound)))))
  (export_statement (lexical_declaration (variable_declarator value: (call_expression arguments: (arguments (object [
    (method_definition name: (_) @name body: (_) @body)
    (pair key: (property_identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
  ] @def.function @bound))))))
  (export_statement value: [
    (object [
      (method_definition name: (_) @name body: (_) @body)
      (pair key: (property_identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
    ] @def.function)
    (call_expression arguments: (arguments (object [
      (method_definition name: (_) @name body: (_) @body)
      (pair key: (property_identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
    ] @def.function)))])])

; definitions by assignment
(program (expression_statement (assignment_expression left: (member_expression object: [(identifier) (member_expression)]) @name right: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @def.function))
(program (expression_statement (assignment_expression right: (assignment_expression
  left: (member_expression object: [(identifier) (member_expression)]) @name right: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @def.function)))
((program (expression_statement (assignment_expression
  left: (member_expression object: (_) @receiver property: (property_identifier) @_prototype)
  right: (object (method_definition name: (_) @name body: (_) @body) @def.function))))
  (#eq? @_prototype "prototype"))
((program (expression_statement (assignment_expression
  left: (member_expression object: (_) @receiver property: (property_identifier) @_prototype)
  right: (object (pair key: (property_identifier) @name value: (function_expression body: (_) @body)) @def.function))))
  (#eq? @_prototype "prototype"))
((program (expression_statement (assignment_expression
  left: (member_expression) @_module right: (object (method_definition name: (_) @name body: (_) @body) @def.function))))
  (#eq? @_module "module.exports"))
((program (expression_statement (assignment_expression
  left: (member_expression) @_module
  right: (object (pair key: (property_identifier) @name value: [(arrow_function body: (_) @body) (function_expression body:
  (_) @body)]) @def.function))))
  (#eq? @_module "module.exports"))

; parameters
(formal_parameters (identifier) @param)
(formal_parameters (assignment_pattern left: (identifier) @param))
(formal_parameters (rest_pattern (identifier) @param))
(formal_parameters (object_pattern [(shorthand_property_identifier_pattern) @local (pair_pattern value: (identifier) @local)
  (object_assignment_pattern left: (shorthand_property_identifier_pattern) @local) (rest_pattern (identifier) @local)]))
(formal_parameters (assignment_pattern left: (object_pattern [(shorthand_property_identifier_pattern) @local
  (pair_pattern value: (identifier) @local) (object_assignment_pattern left: (shorthand_property_identifier_pattern) @local)])))
(formal_parameters (array_pattern (identifier) @local))
