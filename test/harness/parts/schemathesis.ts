import { pythonEnvironment } from './python-environment.ts';

const version = '4.32.5';

/** Sends requests that an OpenAPI document describes, and others, to a server. The path is that of its program, `st`. */
export const schemathesis = pythonEnvironment({
  title: 'Schemathesis',
  variable: 'FLEET_SCHEMATHESIS',
  name: 'schemathesis',
  version,
  packages: [`schemathesis==${version}`],
  program: 'st',
  proof: ['--version'],
});
