import { moduleFile } from './module-files.ts';

/** Live objects, and the status that kstatus gives them: the library by which Flux and cli-utils wait. */
export const kstatus = moduleFile({
  title: 'status cases of kstatus',
  variable: 'FLEET_KSTATUS_CASES',
  name: 'kstatus',
  module: 'sigs.k8s.io/cli-utils@v0.37.2',
  path: 'pkg/kstatus/status',
});
