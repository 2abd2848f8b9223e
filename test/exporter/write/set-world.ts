import { type ExportRequest, prepare } from '../../../exporter/plan/prepare.ts';
import { type Exported, exportMedium } from '../../../exporter/write/export-medium.ts';
import type { WriteOptions } from '../../../exporter/write/write-options.ts';
import type { SetRequest } from '../../../exporter/write/write-set.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { makeKioskWorld, type World } from '../world.ts';

/** Parts of this size cut the 50 000 bytes of the world's big layer. */
export const PART = 40_000;

export type SetWorld = World & {
  /** Fills sticks, by default one with everything in parts of PART bytes. */
  readonly exportSet: (
    sticks: readonly string[],
    set?: Partial<SetRequest>,
    order?: Partial<ExportRequest>,
    options?: Partial<WriteOptions>,
  ) => Promise<Exported>;
};

export const makeSetWorld = async (): Promise<SetWorld> => {
  const world = await makeKioskWorld();
  return {
    ...world,
    exportSet: async (sticks, set = {}, order = {}, options = {}) => {
      const [to = '', ...alsoTo] = sticks.map((stick) => world.path(stick));
      await using prepared = await prepare({
        from: world.path('layout'),
        to,
        alsoTo,
        channels: undefined,
        sites: ['plant-7'],
        bases: [],
        now: NOW,
        ...order,
      });
      return await exportMedium(
        prepared,
        { readBack: true, onBytes: () => {}, seal: prepared.seal, ...options },
        { partSize: PART, stickSizes: [], ...set },
      );
    },
  };
};
