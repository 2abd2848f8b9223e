import { moduleFile } from './module-files.ts';

/** End-to-end tests of kapp. */
export const kappCases = moduleFile({
  title: 'end-to-end tests of kapp',
  variable: 'FLEET_KAPP_CASES',
  name: 'kapp-cases',
  module: 'carvel.dev/kapp@v0.64.2',
  path: 'test/e2e',
});
