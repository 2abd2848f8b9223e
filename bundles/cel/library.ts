/** The part of CEL that we use, which the bundled agent has in a file of its own (rolldown.config.ts). */
export { CelScalar, celEnv, celFunc, celMap, celUint, isCelError, parse, plan } from '@bufbuild/cel';
