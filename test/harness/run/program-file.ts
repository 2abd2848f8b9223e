import { join } from 'node:path';

export type ProgramName = 'scheduler' | 'exporter' | 'agent';

const REPOSITORY = join(import.meta.dirname, '../../..');

/** Names the folder of the built programs; `npm test` builds them once, as a start from source takes three times the CPU time. */
export const PROGRAMS_VARIABLE = 'FLEET_TEST_PROGRAMS';

const BUILT = {
  scheduler: 'scheduler/fleet-scheduler.mjs',
  exporter: 'exporter/fleet-export.mjs',
  agent: 'agent/fleet-agent.mjs',
} as const;

const SOURCE = {
  scheduler: 'scheduler/fleet-scheduler.js',
  exporter: 'exporter/fleet-export.js',
  agent: 'agent/fleet-agent.js',
} as const;

/** The entry file of a program, for Node: the built one where $FLEET_TEST_PROGRAMS is set, otherwise the source of the checkout. */
export const programFile = (name: ProgramName, env: NodeJS.ProcessEnv = process.env): string => {
  const folder = env[PROGRAMS_VARIABLE];
  return folder ? join(folder, BUILT[name]) : join(REPOSITORY, SOURCE[name]);
};

/** Programs of tests that start them many times over; from the checkout's root. */
export const TEST_PROGRAMS = [
  'test/agent/crash-acceptance.ts',
  'test/agent/crash-import.ts',
  'test/agent/crash-local-value.ts',
  'test/agent/crash-pull.ts',
  'test/agent/apply/host/on-host.ts',
  'test/agent/images/bring-from-layout.ts',
  'test/agent/secrets/import-apart.ts',
  'test/exporter/write/crash-create.ts',
  'test/harness/run/agent-lines.ts',
  'test/harness/run/exporter-lines.ts',
  'test/harness/run/scheduler-lines.ts',
  'test/integration/hosts/debs-host/run-case.ts',
  'test/integration/kubernetes/kubernetes-target/killed-agent/look-apart.ts',
  'test/integration/kubernetes/kubernetes-target/lease/hold-lease-apart.ts',
  'test/scheduler/hub/promote/values/killed-repository.ts',
  'test/scheduler/hub/promote/values/killed-values.ts',
  'test/scheduler/hub/sites/enroll/killed-enrolment.ts',
] as const;

export type TestProgram = (typeof TEST_PROGRAMS)[number];

/** The file of a test's own program, for Node: bundled or the source, as `programFile`. */
export const testProgramFile = (file: TestProgram, env: NodeJS.ProcessEnv = process.env): string => {
  const folder = env[PROGRAMS_VARIABLE];
  return folder ? join(folder, 'test', `${bundledName(file)}.mjs`) : join(REPOSITORY, file);
};

/** Name of the bundled program, without its extension. */
export const bundledName = (file: TestProgram): string => file.replaceAll('/', '-').replace(/\.ts$/, '');

/** As testProgramFile, for a booted host: what to bind there, and the file inside. */
export const testProgramOnHost = (file: TestProgram, env: NodeJS.ProcessEnv = process.env) => {
  const folder = env[PROGRAMS_VARIABLE];
  const [from, to, inside] = folder
    ? [join(folder, 'test'), '/opt/fleet-tests', `${bundledName(file)}.mjs`]
    : [REPOSITORY, '/opt/fleet-ferry', file];
  return { bind: { from, to, readOnly: true }, file: join(to, inside) };
};

/** Brings the agent onto a booted host: what to bind there, and its entry file inside. */
export const agentOnHost = (env: NodeJS.ProcessEnv = process.env) => {
  const folder = env[PROGRAMS_VARIABLE];
  const [from, to, file] = folder
    ? [join(folder, 'agent'), '/opt/fleet-agent', 'fleet-agent.mjs']
    : [REPOSITORY, '/opt/fleet-ferry', SOURCE.agent];
  return { bind: { from, to, readOnly: true }, file: join(to, file) };
};
