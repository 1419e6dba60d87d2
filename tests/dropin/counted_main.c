/* counted_main: calls each function of cublas_products.h of a fake libcublas; a line "NAME STATUS": the fake's hash of its arguments. */
#include <stdio.h>

#include "counted.h"

#define DECLARE(X, name, why, form, S) int name(PARAMETERS_##form(S));
CUBLAS_COUNTED(DECLARE, )

int main(void) {
    intptr_t base = 100;
#define CALL(X, name, why, form, S)                                                                          \
    printf("%s %d\n", #name, name(CALL_##form));                                                             \
    base += 1000;
    CUBLAS_COUNTED(CALL, )
    return 0;
}
