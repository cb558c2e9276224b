/* One process per evaluation: cc -O2 -o oneshot oneshot.c
   cbo minimize --command "./oneshot {x}" --protocol args --dim 2 --bounds -5,5 */

#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    double sum = 0;
    for (int k = 1; k < count; k++) {
        double x = strtod(words[k], NULL);
        sum += (x - k) * (x - k);
    }
    printf("%.17g\n", sum);
    return 0;
}
