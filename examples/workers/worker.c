/* A worker that stays: cc -O2 -o worker worker.c
   cbo minimize --command ./worker --protocol jsonl --dim 2 --bounds -5,5 */

#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The objective: sum of (x_k - k)^2, k = 1, 2, ... of the numbers up to the bracket. Put your own here. */
static double evaluate(const char *numbers)
{
    double sum = 0;
    for (int k = 1; *numbers != ']' && *numbers != '\0'; k++) {
        char *end;
        double x = strtod(numbers, &end);
        if (end == numbers)
            break;
        sum += (x - k) * (x - k);
        numbers = *end == ',' ? end + 1 : end;
    }
    return sum;
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    /* Requests always look like {"id":7,"x":[0.5,-1.0]}, without blanks. */
    while (getline(&line, &size, stdin) > 0) {
        const char *id = strstr(line, "\"id\":");
        const char *x = strchr(line, '[');
        if (id == NULL || x == NULL)
            return 1;
        printf("{\"id\":%llu,\"value\":%.17g}\n", strtoull(id + 5, NULL, 10), evaluate(x + 1));
        fflush(stdout); /* without it the answer waits in a buffer */
    }
    free(line);
    return 0;
}
