import { goProgram } from './go-program.ts';
import type { Part } from './part.ts';

/** Beside parts.dockerRegistry, for describeOnVersions: the registry of that name today. */
export const distribution3: Part = {
  ...goProgram({
    title: 'distribution 3',
    variable: 'FLEET_DISTRIBUTION_3',
    name: 'registry',
    folder: 'distribution-3',
    path: 'github.com/distribution/distribution/v3/cmd/registry',
    version: 'v3.1.0',
    proof: ['--version'],
  }),
  onlyInLong: true,
};
