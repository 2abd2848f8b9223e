import { toFleetError } from '../../bundles/errors.ts';
import { rootAccess } from '../../test/harness/hosts/as-root.ts';
import { installPart, type PartName, partTitle, thisMachine } from '../../test/harness/parts.ts';
import { Broken } from '../story.ts';
import { startApiPlant } from './api-plant.ts';
import { startNodePlant } from './node-plant.ts';
import type { Plant } from './plant.ts';

/** Installs missing parts, and prints how long that takes. @throws Broken with the name of a part that cannot be installed */
export const gatherParts = async <Name extends PartName>(
  names: readonly Name[],
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<Record<Name, string>> => {
  const machine = thisMachine(process.env, signal);
  const found = {} as Record<Name, string>;
  for (const name of names) {
    const part = await installPart(name, machine, (source) =>
      say(`${partTitle(name)} is not here yet; getting ${source}. Only once.`),
    );
    if (!part.present) throw new Broken(`${partTitle(name)} cannot be had here: ${part.reason}`);
    found[name] = part.path;
  }
  return found;
};

export type PlantOptions = {
  readonly name: string;
  /** Folder of the plant on this machine. */
  readonly folder: string;
  /** Folder of the stick on this machine. */
  readonly stick: string;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
};

/** The most complete cluster that this machine can run. @throws Broken if it can run none */
export const startPlant = async ({ name, folder, stick, say, signal }: PlantOptions): Promise<Plant> => {
  try {
    if (rootAccess() === 'none') throw new Error('there is no root here, and no sudo without a password');
    const parts = await gatherParts(['nodeBase', 'kube', 'busybox'], say, signal);
    return await startNodePlant(name, parts, { stick, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    say(`A node with real pods is not possible here: ${toFleetError(error).message}`);
  }
  say(
    'Instead: a real API server with controllers, and a node that only says it runs pods. Simulated are therefore',
  );
  say('the pods, their images, and the cable, which is a relay that stops to pass anything on.');
  const parts = await gatherParts(['kube', 'kwok'], say, signal);
  return await startApiPlant(name, parts, { folder, stick, signal });
};
