import { unpackLayer } from '#bundles/formats/archive/unpack-layer';
import { file } from '../../bundles/golden-corpus.ts';

const LAYERS = ['host/layers/printer.tar.gz', 'host/layers/scale.tar.gz', 'host-2/layers/printer.tar.gz'];

/** What the layers of golden host bundles say about themselves. */
export const packageDescriptions = (): readonly Buffer[] =>
  LAYERS.flatMap((path) =>
    [...unpackLayer(file(path), { maxBytes: 1 << 20, maxEntries: 100 })]
      .filter(([name]) => name.endsWith('.json'))
      .map(([, { bytes }]) => Buffer.from(bytes)),
  );
