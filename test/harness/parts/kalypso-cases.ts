import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import type { Machine, Part } from './part.ts';

const beside = (machine: Machine): string => join(machine.repository, '../shared/kalypso/cases');

/** Recorded inputs and outputs of Kalypso. A folder beside the work tree: nothing that could be installed. */
export const kalypsoCases: Part = {
  title: 'Kalypso cases',
  variable: 'FLEET_KALYPSO_CASES',
  source: 'a folder beside the work tree',
  find: (machine) => (existsSync(beside(machine)) ? beside(machine) : undefined),
  install: (machine) =>
    Promise.reject(
      new FleetError(
        'SOURCE_MISSING',
        `There is no folder ${beside(machine)}; FLEET_KALYPSO_CASES names another.`,
      ),
    ),
};
