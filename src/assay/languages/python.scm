; definitions
(function_definition name: (identifier) @name return_type: (_)? @type body: (_) @body) @def.function
(decorated_definition definition: (function_definition name: (identifier) @name return_type: (_)? @type body: (_) @body)) @def.function
((decorated_definition
  (decorator [(identifier) (attribute)] @_property)
  definition: (function_definition name: (identifier) @name return_type: (_)? @type body: (_) @body)) @def.property
  (#match? @_property "^(property|cached_property|functools\\.cached_property|[a-z_0-9]+\\.(setter|getter|deleter))$"))
(class_definition name: (identifier) @name body: (_) @body) @def.class
(decorated_definition definition: (class_definition name: (identifier) @name body: (_) @body)) @def.class
(type_alias_statement left: (type (identifier) @name)) @def.type

(class_definition superclasses: (argument_list [(identifier) (attribute) (subscript)] @base))
(class_definition body: (block . (expression_statement (string) @doc)))
(function_definition body: (block . (expression_statement (string) @doc)))
(module . (expression_statement (string) @doc))
(decorator [(identifier) (attribute) (call)] @decorator)

; assignments: a symbol at the top level and in a class, a local elsewhere
(assignment left: (identifier) @name type: (type)? @type right: (_)? @value) @def.variable
((assignment left: (attribute object: (identifier) @self attribute: (identifier) @name) type: (type)? @type right: (_)? @value) @def.field
  (#eq? @self "self"))
(assignment left: [(pattern_list (identifier) @local) (tuple_pattern (identifier) @local)])
(named_expression name: (identifier) @local value: (_) @value)
(for_statement left: (identifier) @loop right: (_) @value)
(for_statement left: [(pattern_list (identifier) @local) (tuple_pattern (identifier) @local)])
(for_in_clause left: (identifier) @loop right: (_) @value)
(for_in_clause left: [(pattern_list (identifier) @local) (tuple_pattern (identifier) @local)])
(as_pattern (_) @value alias: (as_pattern_target (identifier) @local))
(except_clause (as_pattern (_) @type alias: (as_pattern_target (identifier) @local)))
(global_statement (identifier) @global)

(parameters (identifier) @param)
(lambda_parameters (identifier) @param)
(default_parameter name: (identifier) @param)
(typed_parameter . (identifier) @param type: (_) @type)
(typed_parameter . [(list_splat_pattern (identifier) @param) (dictionary_splat_pattern (identifier) @param)])
(typed_default_parameter name: (identifier) @param type: (_) @type)
(parameters [(list_splat_pattern (identifier) @param) (dictionary_splat_pattern (identifier) @param)])
(return_statement (_) @return)

; names
(call function: (_) @call)
(attribute) @access
(type) @hint
(raise_statement . [(identifier) (attribute) (call)] @throw)
(argument_list (identifier) @mention)
(keyword_argument value: (identifier) @mention)
(default_parameter value: (identifier) @mention)
(typed_default_parameter value: (identifier) @mention)
(assignment right: (identifier) @mention)
(assignment right: (expression_list (identifier) @mention))
(return_statement (identifier) @mention)
(return_statement (expression_list (identifier) @mention))
(yield (identifier) @mention)
(lambda body: (identifier) @mention)
(list (identifier) @mention)
(tuple (identifier) @mention)
(set (identifier) @mention)
(pair value: (identifier) @mention)
(pair key: (identifier) @mention)
(subscript value: (identifier) @mention)
(subscript subscript: (identifier) @mention)
(comparison_operator (identifier) @mention)
(boolean_operator (identifier) @mention)
(binary_operator (identifier) @mention)
(not_operator (identifier) @mention)
(conditional_expression (identifier) @mention)
(for_statement right: (identifier) @mention)
(for_in_clause right: (identifier) @mention)
(if_statement condition: (identifier) @mention)
(interpolation (identifier) @mention)
(attribute object: (identifier) @mention)
(except_clause [(identifier) (attribute)] @mention)
(except_clause (tuple [(identifier) (attribute)] @mention))
(except_clause (as_pattern [(identifier) (attribute)] @mention))
(with_item (identifier) @mention)
(list_splat (identifier) @mention)
(dictionary_splat (identifier) @mention)

; imports
(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module name: (dotted_name) @imported) @import
(import_from_statement module_name: (_) @module name: (aliased_import name: (dotted_name) @imported alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module (wildcard_import) @imported) @import
(future_import_statement name: (dotted_name) @imported) @import
