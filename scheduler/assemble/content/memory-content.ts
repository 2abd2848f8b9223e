import { digestOf } from '#bundles/digest';
import { missingBlob } from '#bundles/formats/layout/verified';
import type { Content } from './content.ts';

/** A file of an application as a blob of its own. */
export const memoryContent = (bytes: Buffer, name: string): Content => {
  const digest = digestOf(bytes);
  return {
    digest,
    size: bytes.byteLength,
    source: {
      name,
      size: async (one) => (one === digest ? bytes.byteLength : undefined),
      open: async (one) => {
        if (one !== digest) throw missingBlob(one, name);
        return (async function* once() {
          yield bytes;
        })();
      },
    },
  };
};
