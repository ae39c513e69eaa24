// Bessel functions and their kin. V is double or a vector of doubles, but for the functions at the
// end of each part.
#pragma once
#include "math/special.h"

namespace facula::math {
inline namespace FACULA_ISA {

constexpr double kSqrtPi = 1.7724538509055161, kTwoOverPi = 0.63661977236758138;

// ---- of the first and second kind. At infinity PyTorch has no value.

// a^2 - zero^2, exact also where a is close to the zero, whose last bits are `rest`.
template <class V>
FACULA_FN V square_off_zero(V a, double zero, double rest) {
  return ((a - V(zero)) - V(rest)) * (a + V(zero));
}

// Up to 8: a polynomial, in the square, of what the first two zeros leave.
template <class V>
FACULA_FN V j0_up_to_8(V a) {
  V u = fma(a * a, V(1. / 32), V(-1));
  V rest = poly(u, 0.0011434937743762545, -0.002119794289479692, 0.0015636431645931661,
                -0.0006415390646406123, 0.00016977200713997844, -3.157342540223544e-05,
                4.3669323246406834e-06, -4.677128021300745e-07, 3.998839345472477e-08,
                -2.7948629678329127e-09, 1.62764894918064e-10, -8.023472601933258e-12,
                3.3923298937104677e-13, -1.2482967042743655e-14, 4.0068948013720515e-16);
  return square_off_zero(a, 0x1.33d152e971b40p+1, -1.176691651530894e-16) *
         square_off_zero(a, 0x1.6148f5b2c2e45p+2, 8.088597146146722e-17) * rest;
}
template <class V>
FACULA_FN V j1_up_to_8(V a) {
  V u = fma(a * a, V(1. / 32), V(-1));
  V rest = poly(u, 0.00019498936985895625, -0.0002697522746716368, 0.00015860016799369874,
                -5.408003239085506e-05, 1.224217365301561e-05, -1.989093515914257e-06,
                2.442522260752042e-07, -2.352192254577852e-08, 1.8268547695321333e-09,
                -1.1696932521783476e-10, 6.284733827929608e-12, -2.875530868558852e-13,
                1.1343125416873433e-14, -3.9104228826133377e-16, 1.181146462725329e-17);
  return a * square_off_zero(a, 0x1.ea75575af6f09p+1, -1.5269184090088067e-16) *
         square_off_zero(a, 0x1.c0ff5f3b47250p+2, -9.414165653410389e-17) * rest;
}
// The second kind is 2/pi log(a) times the first, and a polynomial.
template <class V>
FACULA_FN V y0_up_to_8(V a) {
  V u = fma(a * a, V(1. / 32), V(-1));
  V rest = poly(u, -0.38225065445942497, -0.8284358903604587, 1.6470964788745432,
                0.14412632369302475, -1.077547733821527, 0.6721770783431679, -0.21895747096229642,
                0.046367047681375125, -0.0070257410549918785, 0.000806158605961636,
                -7.279542368660281e-05, 5.3213188103997145e-06, -3.218450383864968e-07,
                1.6390875014077404e-08, -7.165821913752182e-10, 2.6926938054524057e-11);
  return fma(V(kTwoOverPi) * log(a), j0_up_to_8(a), rest);
}
template <class V>
FACULA_FN V y1_up_to_8(V a) {
  V u = fma(a * a, V(1. / 32), V(-1));
  V rest =
      poly(u, 0.07075985882118005, -0.24337743079193114, 0.02336757172099348, 0.23507209206669755,
           -0.19639839859930203, 0.07854786922242532, -0.01962875683311711, 0.0034224907399188495,
           -0.0004438173434420147, 4.467433012646365e-05, -3.601000022590458e-06,
           2.3804930420514178e-07, -1.3153147367094951e-08, 6.169688029066965e-10,
           -2.499531546171249e-11, 8.760001143977853e-13);
  V first = fma(log(a), j1_up_to_8(a), V(-1) / a);
  return fma(V(kTwoOverPi), first, a * rest);
}

// Beyond: p cos(t) - q sin(t) is the first kind and p sin(t) + q cos(t) the second, both times
// sqrt(2 / (pi a)), with t = a - pi/4 for order 0 and a - 3 pi/4 for order 1. By the sum and the
// difference of the sine and the cosine of a no angle is rounded.
template <class V>
struct BesselPair {
  V first, second;
};
template <class V>
FACULA_FN BesselPair<V> bessel_beyond_8(V a, V p, V q) {
  V s = sin(a), c = cos(a);
  V sum = s + c, difference = s - c, scale = V(1) / (V(kSqrtPi) * sqrt(a));
  return {(p * sum - q * difference) * scale, (p * difference + q * sum) * scale};
}
template <class V>
FACULA_FN BesselPair<V> bessel_0_beyond_8(V a) {
  V t = V(8) / a, u = fma(t * t, V(2), V(-1));
  V p = poly(u, 0.9994572757882519, -0.0005363673192129672, 6.137416081283524e-06,
             -2.0527448261170675e-07, 1.2803747743828764e-08, -1.2121098178951377e-09,
             1.550640953808597e-10, -2.491146535471666e-11, 4.674289307624388e-12,
             -1.0157485021065676e-12, 3.455012974455743e-13, -1.0251790052831013e-13);
  V q = poly(u, -0.015555113879513503, 6.833149099340043e-05, -1.4771388337908456e-06,
             7.106214965332309e-08, -5.668703001176468e-09, 6.432698991315309e-10,
             -9.475810949221058e-11, 1.7060404730873274e-11, -3.48970902036278e-12,
             8.172520584990984e-13, -3.1231642273997054e-13, 9.894020065590535e-14);
  return bessel_beyond_8(a, p, t * q);
}
template <class V>
FACULA_FN BesselPair<V> bessel_1_beyond_8(V a) {
  V t = V(8) / a, u = fma(t * t, V(2), V(-1));
  V p = poly(u, 1.0009070262780821, 0.0008988049416705183, -7.959694699684788e-06,
             2.453676633366693e-07, -1.4708498448932155e-08, 1.3602969253877949e-09,
             -1.7137279585997966e-10, 2.72345126828134e-11, -5.071495295696752e-12,
             1.0954826479277623e-12, -3.697244591244297e-13, 1.0923713653079462e-13);
  V q = poly(u, 0.04677687402744896, -9.621458822050365e-05, 1.8212018524401882e-06,
             -8.29196082083117e-08, 6.4201186711763055e-09, -7.1510179969292e-10,
             1.0400818107800088e-10, -1.855351813063018e-11, 3.770813807536884e-12,
             -8.785014186436455e-13, 3.3322408743850924e-13, -1.0515607072587001e-13);
  // A quarter turn before order 0.
  BesselPair<V> turned = bessel_beyond_8(a, p, t * q);
  return {turned.second, -turned.first};
}

// Vectors are mostly on one side of 8: what no lane needs is not computed.
template <class V>
FACULA_FN V bessel_j0_in_double(V x) {
  V a = abs(x), y = j0_up_to_8(a);
  auto is_far = a > V(8);
  return any(is_far) ? select(is_far, bessel_0_beyond_8(a).first, y) : y;
}
template <class V>
FACULA_FN V bessel_j1_in_double(V x) {
  V a = abs(x), y = j1_up_to_8(a);
  auto is_far = a > V(8);
  if (any(is_far)) y = select(is_far, bessel_1_beyond_8(a).first, y);
  return y * copysign(V(1), x);
}
template <class V>
FACULA_FN V second_kind_at_edges(V x, V y) {
  return select(x > V(0), y, select(x == V(0), -infinity<V>(), nan<V>()));
}
template <class V>
FACULA_FN V bessel_y0_in_double(V x) {
  V y = y0_up_to_8(x);
  auto is_far = x > V(8);
  if (any(is_far)) y = select(is_far, bessel_0_beyond_8(x).second, y);
  return second_kind_at_edges(x, y);
}
template <class V>
FACULA_FN V bessel_y1_in_double(V x) {
  V y = y1_up_to_8(x);
  auto is_far = x > V(8);
  if (any(is_far)) y = select(is_far, bessel_1_beyond_8(x).second, y);
  return second_kind_at_edges(x, y);
}
template <class V>
FACULA_FN V spherical_bessel_j0_in_double(V x) {
  V y = select(x == V(0), V(1), sin(x) / x);
  return select(abs(x) == infinity<V>(), V(0), y);
}
FACULA_BY_DOUBLE(bessel_j0)
FACULA_BY_DOUBLE(bessel_j1)
FACULA_BY_DOUBLE(bessel_y0)
FACULA_BY_DOUBLE(bessel_y1)
FACULA_BY_DOUBLE(spherical_bessel_j0)

// ---- modified, of the first kind, order 1

template <bool is_scaled, class V>
FACULA_FN V any_i1_in_double(V x) {
  V a = abs(x);
  V z = at_most(a * a * V(0.25), V(16));
  V small = V(0.5) * a *
            poly(z, 1, 0.5000000000000001, 0.08333333333333304, 0.006944444444445074,
                 0.00034722222222152976, 1.1574074074534407e-05, 2.755731920391342e-07,
                 4.920949921842687e-09, 6.83465128891456e-11, 7.594078640571914e-13,
                 6.90345857780368e-15, 5.23199686931082e-17, 3.3409822775005573e-19,
                 1.891097971873532e-21, 7.411929630086269e-24, 5.834719583156168e-26);
  if constexpr (is_scaled) small = small * exp(-a);
  auto is_far = !(a < V(8));
  if (any(is_far)) {
    V b = is_scaled ? at_least(a, V(8)) : clamp(a, V(8), V(720));
    V scaled = poly(V(16) / b - V(1), 0.38939845902587233, -0.009749577193235635,
                    -0.0002192357638317243, -1.5038547209501858e-05, -1.8349102358955385e-06,
                    -3.4838534380376333e-07, -1.000109565963654e-07, -4.313196489977733e-08,
                    -2.339250374801858e-08, -8.409182040442918e-09, 6.840138997706959e-09,
                    1.3958551001385956e-08, 5.593370101790607e-09, -7.444441477197272e-09,
                    -6.983839624895859e-09, 3.086886736722728e-09, 4.810597405089936e-09,
                    -1.0594544160443186e-09, -2.297004161885195e-09, 2.6340771095136576e-10,
                    6.917089294193781e-10, -3.365431853180194e-11, -9.752397204138148e-11) /
               sqrt(b);
    if constexpr (!is_scaled) {
      // The power of two last: the result overflows later than exp(b) does.
      ExpParts<V> parts = exp_parts(b);
      scaled = ldexp(exp_near_zero(parts.r) * scaled, parts.n);
    }
    small = select(is_far, scaled, small);
  }
  return select(x < V(0), -small, small);
}
template <class V>
FACULA_FN V i1_in_double(V x) {
  return any_i1_in_double<false>(x);
}
template <class V>
FACULA_FN V i1e_in_double(V x) {
  return any_i1_in_double<true>(x);
}
FACULA_BY_DOUBLE(i1)
FACULA_BY_DOUBLE(i1e)

// ---- modified, of the second kind

// Up to 2: the logarithm times the function of the first kind, and a polynomial.
template <class V>
FACULA_FN V k0_up_to_2(V x) {
  V z = x * x * V(0.25);
  V first = poly(z, 1, 1, 0.249999999999999, 0.027777777777790537, 0.0017361111110282541,
                 6.944444475342804e-05, 1.9290116445527847e-06, 3.9368582755660346e-08,
                 6.142857463632694e-10, 7.982961794821594e-12);
  V rest =
      poly(z, -0.5772156649015329, 0.4227843350984672, 0.23069608377461442, 0.03489215745646895,
           0.0026147876186100425, 0.00011848039436886487, 3.6126224518943577e-06,
           7.935328221734045e-08, 1.3147872835444892e-09, 1.8015393361176177e-11);
  return fma(-log(x * V(0.5)), first, rest);
}
template <class V>
FACULA_FN V k1_up_to_2(V x) {
  V half = x * V(0.5), z = half * half;
  V first = poly(z, 1, 0.499999999999999, 0.08333333333335943, 0.006944444444176694,
                 0.00034722222359766236, 1.1574070106890465e-05, 2.755799084031421e-07,
                 4.914333839736424e-09, 7.184710597851923e-11);
  V rest =
      poly(z, 0.07721566490153287, -0.33639216754923357, -0.0907875834804276, -0.009591094919668055,
           -0.0005576797459652441, -2.071123851355827e-05, -5.357728045417948e-07,
           -1.0226644046029476e-08, -1.4992119543473217e-10, -1.8326156034028516e-12);
  return fma(half, fma(log(half), first, rest), V(1) / x);
}
// Beyond, times exp(x).
template <class V>
FACULA_FN V scaled_k0_beyond_2(V x) {
  return poly(V(4) / x - V(1), 1.2185953385133905, -0.031071461824889898, 0.0030328918102753206,
              -0.0004797690567328844, 9.95605474202942e-05, -2.473520542848972e-05,
              7.002245645755651e-06, -2.1911673837417864e-06, 7.427801232190096e-07,
              -2.689759865539584e-07, 1.02954317593912e-07, -4.1056738724915364e-08,
              1.7047535884249698e-08, -8.025205604904476e-09, 3.808399859919043e-09,
              -6.643878631843235e-10, 4.757544705776374e-11, -1.2366923277096287e-09,
              8.133913205464114e-10, 4.3927260002107633e-10, -3.119936129682105e-10,
              -1.7597528809195706e-10, 1.0926983537268735e-10) /
         sqrt(x);
}
template <class V>
FACULA_FN V scaled_k1_beyond_2(V x) {
  return poly(V(4) / x - V(1), 1.363151890371342, 0.10334973775386565, -0.005566729880074588,
              0.0007357241548718385, -0.00013959021956272223, 3.2843866502355955e-05,
              -8.961207387750025e-06, 2.7300301043527215e-06, -9.067087633371393e-07,
              3.230567198853934e-07, -1.2203186351938403e-07, 4.815434679085478e-08,
              -1.9817577141591116e-08, 9.213894020289533e-09, -4.331939985658629e-09,
              7.966242798504094e-10, -8.336227195991457e-11, 1.3615859404460648e-09,
              -8.908596710923906e-10, -4.77441121785095e-10, 3.3867804167808003e-10,
              1.9273808087540517e-10, -1.1931668393112158e-10) /
         sqrt(x);
}

template <bool is_first_order, bool is_scaled, class V>
FACULA_FN V modified_k_in_double(V x) {
  V near = is_first_order ? k1_up_to_2(x) : k0_up_to_2(x);
  auto is_far = x > V(2);
  V e = exp(is_scaled ? x : -x);
  V y = is_scaled ? near * e : near;
  if (any(is_far)) {
    V far = is_first_order ? scaled_k1_beyond_2(x) : scaled_k0_beyond_2(x);
    y = select(is_far, is_scaled ? far : far * e, y);
  }
  return select(x > V(0), y, select(x == V(0), infinity<V>(), nan<V>()));
}
template <class V>
FACULA_FN V modified_bessel_k0_in_double(V x) {
  return modified_k_in_double<false, false>(x);
}
template <class V>
FACULA_FN V modified_bessel_k1_in_double(V x) {
  return modified_k_in_double<true, false>(x);
}
template <class V>
FACULA_FN V scaled_modified_bessel_k0_in_double(V x) {
  return modified_k_in_double<false, true>(x);
}
template <class V>
FACULA_FN V scaled_modified_bessel_k1_in_double(V x) {
  return modified_k_in_double<true, true>(x);
}
FACULA_BY_DOUBLE(modified_bessel_k0)
FACULA_BY_DOUBLE(modified_bessel_k1)
FACULA_BY_DOUBLE(scaled_modified_bessel_k0)
FACULA_BY_DOUBLE(scaled_modified_bessel_k1)

// ---- Airy's function: polynomials around zero, and factors of its expansions at infinity

template <class V>
FACULA_FN V airy_around_zero(V x) {
  V left = poly(fma(x, V(0.5), V(1)), 0.22740742820168558, 1.236518041483382, -0.9096297128067435,
                -1.3454808177089295, 1.4307651695268206, 0.17434044196090678, -0.7403322632644156,
                0.2393189957262948, 0.13066752933569073, -0.1088501398826777, 0.009657908001950839,
                0.01741946682162425, -0.007182305397743959, -0.00039802853771875237,
                0.0010813950041438512, -0.00025844896228070145, -4.931092693915537e-05,
                3.940776964296839e-05, -5.472112242572243e-06, -2.0760568978552044e-06,
                9.490613774734944e-07, -6.401483493561906e-08, -5.5002940681667605e-08,
                1.563408983047369e-08, 8.48620341900966e-10, -8.1404784961538e-10);
  V right = poly(fma(x, V(1 / 1.05), V(-1)), 0.12750361612058014, -0.16003717071837745,
                 0.0738006868057933, -0.00627694269021277, -0.008319125807442476,
                 0.003908358714094379, -0.0005632257931484906, -0.0001215717680461942,
                 6.915016956909038e-05, -1.1010260631644088e-05, -6.742726943244865e-07,
                 6.118560673522067e-07, -1.0247229335841098e-07, -4.625331674422011e-10,
                 3.2403458907361494e-09, -5.680370589893761e-10, 1.3083047142164903e-11,
                 1.1701200244015244e-11, -1.9509319526407143e-12);
  return select(x < V(0), left, right);
}
// From 2.1 on it decays; `zeta` is 2/3 x^(3/2).
template <class V>
FACULA_FN V airy_beyond_2(V x) {
  V root = sqrt(x), zeta = x * root * V(2. / 3);
  V factor = poly(V(4) / zeta - V(1), 0.27772788145966926, -0.003930213422383935,
                  0.0003644086772189497, -5.658640552776045e-05, 1.163038777547966e-05,
                  -2.8724363379150834e-06, 8.098717913724667e-07, -2.526816127288264e-07,
                  8.547006091826645e-08, -3.089243863279304e-08, 1.1773851821375033e-08,
                  -4.703072191321886e-09, 2.047995101931752e-09, -9.171093602774332e-10,
                  2.5334883086795024e-10, -7.631237615925611e-11, 2.2346666355372613e-10,
                  -1.4067100617955285e-10, -6.974125383824762e-11, 4.989552663327781e-11,
                  3.286526968520089e-11, -2.0005363237680186e-11);
  return exp(-zeta) * factor / sqrt(root);
}
// Up to -4 it oscillates; z is -x.
template <class V>
FACULA_FN V airy_below_minus_4(V z) {
  V root = sqrt(z), zeta = z * root * V(2. / 3);
  V t = V(5.3) / zeta, u = fma(t * t, V(2), V(-1));
  V f = poly(u, 0.56382618195012, -0.0003545739773224249, 8.229138212093738e-06,
             -5.274755812385725e-07, 5.897942676762503e-08, -9.420295502413259e-09,
             1.9299734514727636e-09, -4.752799803977324e-10, 1.339158079085435e-10,
             -4.2088894023317015e-11, 1.6480450063651256e-11, -6.742607272664335e-12,
             5.352142876338919e-13, 1.5818980229893828e-13, 1.2540863871687542e-12,
             -6.859378973184749e-13);
  V g = poly(u, 0.007323917159957674, -6.537456208877859e-05, 2.8296528503554778e-06,
             -2.5516156448120553e-07, 3.5727092111219e-08, -6.716438048170725e-09,
             1.5600836049623894e-09, -4.250049012732857e-10, 1.2965322492250952e-10,
             -4.3522795938867023e-11, 1.8978108049159717e-11, -8.389689561696802e-12,
             1.3434754233589082e-13, 5.426056372039996e-13, 1.8234773894379714e-12,
             -1.0395475272920118e-12);
  // The sine and cosine of zeta - pi/4, from those of zeta.
  V s = sin(zeta), c = cos(zeta);
  return (f * (s + c) + t * g * (s - c)) * V(0.70710678118654752) / sqrt(root);
}
template <class V>
FACULA_FN V airy_ai_in_double(V x) {
  V y = airy_around_zero(x);
  auto is_right = x > V(2.1), is_left = x < V(-4);
  if (any(is_right)) y = select(is_right, airy_beyond_2(x), y);
  if (any(is_left)) y = select(is_left, airy_below_minus_4(-x), y);
  return select(abs(x) < infinity<V>(), y, nan<V>());
}
FACULA_BY_DOUBLE(airy_ai)

}  // namespace FACULA_ISA
}  // namespace facula::math
