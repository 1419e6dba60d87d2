# include this file, link $(@UPPER@LIB). Beforehand may be set: @UPPER@CC (compiler), @UPPER@FLAGS, @UPPER@OUT (a folder that
# exists, for objects and library).
@UPPER@DIR := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
@UPPER@OUT ?= $(@UPPER@DIR)
@UPPER@CC ?= @COMPILER@
@UPPER@FLAGS ?= -O3
@UPPER@LIB := $(@UPPER@OUT)/lib@STEM@.a
@UPPER@OBJECTS := $(addprefix $(@UPPER@OUT)/,@OBJECTS@)

$(@UPPER@LIB): $(@UPPER@OBJECTS)
	rm -f $@ && ar rcs $@ $(@UPPER@OBJECTS)

$(@UPPER@OBJECTS): $(wildcard $(@UPPER@DIR)/*.h)

@RULES@
$(@UPPER@OUT)/%.o: $(@UPPER@DIR)/%.c
	$(@UPPER@CC) $(@UPPER@FLAGS)@C_FLAGS@ -c $< -o $@
