; definitions
(class name: (_) @name body: (_)? @body) @def.class
(module name: (_) @name body: (_)? @body) @def.module
(method name: (_) @name body: (_)? @body) @def.function
(singleton_method name: (_) @name body: (_)? @body) @def.function
(alias name: (_) @name) @def.function
(assignment left: (constant) @name right: (_) @value) @def.constant
(operator_assignment left: (constant) @name right: (_) @value) @def.constant
((call !receiver method: (identifier) @_attribute arguments: (argument_list (simple_symbol) @name @def.property))
  (#any-of? @_attribute "attr_reader" "attr_writer" "attr_accessor" "attr" "attr_internal" "mattr_accessor" "mattr_reader" "mattr_writer"
    "cattr_accessor" "cattr_reader" "cattr_writer" "class_attribute" "thread_mattr_accessor" "thread_cattr_accessor"))
((call !receiver method: (identifier) @_define arguments: (argument_list . (simple_symbol) @name)) @def.function
  (#any-of? @_define "define_method" "alias_method" "define_singleton_method"))

; instance variables belong to the class around the method that assigns them
(assignment left: [(instance_variable) (class_variable)] @self @name right: (_) @value) @def.field
(operator_assignment left: [(instance_variable) (class_variable)] @self @name right: (_) @value) @def.field
(left_assignment_list [(instance_variable) (class_variable)] @self @name @def.field)

(superclass [(constant) (scope_resolution)] @base)
(superclass (call receiver: [(constant) (scope_resolution)] @base))
(superclass (element_reference object: [(constant) (scope_resolution)] @base))
((call !receiver method: (identifier) @_mixin arguments: (argument_list [(constant) (scope_resolution)] @implements))
  (#any-of? @_mixin "include" "extend" "prepend"))

; locals and parameters
(assignment left: (identifier) @local right: (_) @value)
(operator_assignment left: (identifier) @local right: (_) @value)
(left_assignment_list (identifier) @local)
(left_assignment_list (rest_assignment (identifier) @local))
(destructured_left_assignment (identifier) @local)
(for pattern: (identifier) @local)
(rescue exceptions: (exceptions . [(constant) (scope_resolution)] @type) variable: (exception_variable (identifier) @local))
(rescue variable: (exception_variable (identifier) @local))
(method_parameters (identifier) @param)
(method_parameters (_ name: (identifier) @param))
(lambda_parameters (identifier) @local)
(lambda_parameters (_ name: (identifier) @local))
(block_parameters (identifier) @local)
(block_parameters (_ name: (identifier) @local))
(destructured_parameter (identifier) @local)
(destructured_parameter (_ name: (identifier) @local))
(as_pattern name: (identifier) @local)
(in_clause pattern: (identifier) @local)
(array_pattern (identifier) @local)
(keyword_pattern value: (identifier) @local)
(splat_parameter name: (identifier) @local)

; what a method returns: `return`, and its last expression
(return (argument_list . (_) @return .))
(method body: (body_statement [(identifier) (call) (constant) (scope_resolution) (instance_variable) (self)] @return .))
(singleton_method body: (body_statement [(identifier) (call) (constant) (scope_resolution) (instance_variable) (self)] @return .))
(method body: (body_statement [(assignment right: (_) @return) (operator_assignment right: (_) @return)] .))
(singleton_method body: (body_statement [(assignment right: (_) @return) (operator_assignment right: (_) @return)] .))
(method body: [(identifier) (call) (constant) (instance_variable)] @return)
(singleton_method body: [(identifier) (call) (constant) (instance_variable)] @return)

; names
((call receiver: (_) method: (_) @callee) @call (#not-eq? @callee "new"))
((call receiver: [(constant) (scope_resolution)] @callee method: (identifier) @_new) @new (#eq? @_new "new"))
((call receiver: [(identifier) (call) (self) (instance_variable) (super) (element_reference)] method: (identifier) @callee) @call (#eq? @callee "new"))
(call !receiver method: [(identifier) (constant)] @call)
(super) @call
(identifier) @bare
(constant) @mention
(instance_variable) @mention
(class_variable) @mention
(scope_resolution) @access
(scope_resolution scope: (_) @part)
(scope_resolution name: (_) @part)
(setter (identifier) @part)
((call receiver: (_) method: (identifier) @part) (#eq? @part "new"))
(alias (identifier) @part)
((call !receiver method: (identifier) @_raise arguments: (argument_list . [(constant) (scope_resolution)] @throw))
  (#any-of? @_raise "raise" "fail"))
((call !receiver method: (identifier) @_raise arguments: (argument_list . (call receiver: [(constant) (scope_resolution)] @throw method: (identifier) @_new)))
  (#any-of? @_raise "raise" "fail") (#eq? @_new "new"))
((call method: (identifier) @_method arguments: (argument_list . (simple_symbol) @mention .))
  (#any-of? @_method "method" "instance_method"))

; imports
((call !receiver method: (identifier) @_require arguments: (argument_list (string (string_content) @module))) @import
  (#any-of? @_require "require" "require_relative" "load" "autoload" "require_dependency"))
