import { gunzipSync } from 'node:zlib';
import { readTar } from '#bundles/formats/archive/read-tar';
import { unpackLayer } from '#bundles/formats/archive/unpack-layer';
import { digestOf } from '#bundles/digest';
import { collect, streamOf } from '../../bundles/formats/archive/streams.ts';
import { file } from '../../bundles/golden-corpus.ts';
import { mutateLayer, mutateTar } from '../mutate-archive.ts';
import { insist, type Target } from '../target.ts';

const LAYERS = [
  'host/layers/printer.tar.gz',
  'host/layers/scale.tar.gz',
  'host-2/layers/printer.tar.gz',
  'kubernetes/layers/all.tar.gz',
].map(file);

const leaves = (path: string): boolean => path.startsWith('/') || path.split('/').includes('..');

const listTar = async (bytes: Buffer, sizes: readonly number[]): Promise<string> => {
  const items: string[] = [];
  for await (const { path, size, directory, content } of readTar(streamOf(bytes, sizes), {
    maxEntries: 1000,
  })) {
    insist(!leaves(path), `the path ${path} leaves its folder`);
    const read = await collect(content);
    insist(read.length === size, `${path} has ${read.length} bytes and says ${size}`);
    items.push(`${path} ${directory} ${digestOf(read)}`);
  }
  insist(new Set(items.map((item) => item.split(' ')[0])).size === items.length, 'a path came twice');
  return items.join('\n');
};

const MAX_BYTES = 4 << 20;

export const ARCHIVES: readonly Target[] = [
  {
    name: 'tar',
    corpus: [file('media/full.tar'), ...LAYERS.map((layer) => gunzipSync(layer))],
    mutate: mutateTar,
    run: async (input) => {
      const whole = await listTar(input, [input.length]);
      insist(
        whole === (await listTar(input, [1000, 7, 512])),
        'the archive depends on how it is cut into pieces',
      );
    },
  },
  {
    name: 'layer',
    corpus: LAYERS,
    mutate: mutateLayer,
    run: (input) => {
      const files = unpackLayer(input, { maxBytes: MAX_BYTES, maxEntries: 1000 });
      let total = 0;
      for (const [path, { bytes, mode }] of files) {
        insist(!leaves(path), `the path ${path} leaves its folder`);
        insist(mode <= 0o777, `the file ${path} is set-uid`);
        total += bytes.length;
      }
      insist(total <= MAX_BYTES, `${total} bytes came out`);
    },
  },
];
