/** The parts of CEL that are used, for the bundler: the agent has it as a file of its own (rolldown.config.ts). */
export { CelScalar, celEnv, celFunc, isCelError, parse, plan } from '@bufbuild/cel';
