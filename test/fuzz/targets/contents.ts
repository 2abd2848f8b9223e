import { gunzipSync, gzipSync } from 'node:zlib';
import { byteCursor } from '#bundles/formats/archive/byte-cursor';
import { memoryContent } from '../../../scheduler/assemble/content/memory-content.ts';
import { nextMember, openAr, skipMember } from '../../../scheduler/assemble/content/debs/read-ar.ts';
import { readCollection } from '../../../scheduler/assemble/content/playbooks/read-collection.ts';
import { readControl } from '../../../scheduler/assemble/content/debs/read-control.ts';
import { streamOf } from '../../bundles/formats/archive/streams.ts';
import { ar, CONTROL, makeDeb, read, tar } from '../../scheduler/assemble/content/make-deb.ts';
import { mutateLayer, mutateTar } from '../mutate-archive.ts';
import { type Mutate, mutateBytes } from '../mutate-bytes.ts';
import { mutateText } from '../mutate-text.ts';
import { insist, type Target } from '../target.ts';

const TWO_MEMBERS = ar([
  { name: 'debian-binary', bytes: '2.0\n' },
  { name: 'control.tar', bytes: tar({ './control': CONTROL }) },
  { name: '_note', bytes: 'odd' },
  { name: 'data.tar', bytes: tar({ './usr': 'x' }) },
]);
const COLLECTION = tar({
  'MANIFEST.json': JSON.stringify({
    collection_info: { namespace: 'company', name: 'factory', version: '1.2.3' },
    format: 1,
  }),
  'FILES.json': '{}',
});

/** The archive inside, or any byte of what it lies in. */
const mutateDeb: Mutate = (random, input, others) => {
  if (random.chance(50)) return mutateBytes(random, input, others);
  const control = random.chance(50) ? mutateText(random, Buffer.from(CONTROL), []) : Buffer.from(CONTROL);
  const inside = tar({ './control': control.toString('latin1') });
  const packed = random.chance(50) ? gzipSync(mutateTar(random, inside, [])) : gzipSync(inside);
  return ar([
    { name: 'debian-binary', bytes: '2.0\n' },
    { name: 'control.tar.gz', bytes: packed },
    { name: 'data.tar.gz', bytes: gzipSync('') },
  ]);
};

const mutateCollection: Mutate = (random, input, others) =>
  random.chance(70)
    ? gzipSync(mutateTar(random, COLLECTION, [gunzipSync(makeCollection())]))
    : mutateLayer(random, input, others);

const makeCollection = (): Buffer => gzipSync(COLLECTION);

const isPlain = (text: string): boolean => /^[a-zA-Z0-9.+:~_-]+$/.test(text);

/** What careless and hostile publishers offer, which the scheduler reads to write indexes of its own. */
export const CONTENTS: readonly Target[] = [
  {
    name: 'ar',
    corpus: [TWO_MEMBERS, makeDeb()],
    mutate: mutateBytes,
    run: async (input) => {
      const cursor = byteCursor(streamOf(input, [1000, 7, 60]));
      await openAr(cursor);
      for (let member = await nextMember(cursor); member; member = await nextMember(cursor)) {
        insist(member.size >= 0 && !member.name.includes('/'), `a member ${member.name}`);
        await skipMember(cursor, member);
        insist(cursor.position() <= input.length, 'more was read than there is');
      }
    },
  },
  {
    name: 'deb',
    corpus: [TWO_MEMBERS, makeDeb()],
    mutate: mutateDeb,
    run: async (input) => {
      const { package: name, version, architecture, fields } = await read(input);
      insist([name, version, architecture].every(isPlain), `${name} ${version} ${architecture}`);
      insist(!fields.some((field) => /^(filename|sha256|size)$/i.test(field.name)), 'it says where it lies');
    },
  },
  {
    name: 'control',
    corpus: [Buffer.from(CONTROL)],
    mutate: mutateText,
    run: (input) => {
      const { package: name, version, architecture, fields } = readControl(input);
      insist([name, version, architecture].every(isPlain), `${name} ${version} ${architecture}`);
      const written = fields.map((field) => `${field.name}: ${field.value}\n`).join('');
      insist(!written.includes('\n\n'), 'it is two paragraphs of an index');
      for (const field of fields)
        insist(!/\n[^ \t]/.test(field.value), `the field ${field.name} has another field in it`);
    },
  },
  {
    name: 'collection',
    corpus: [makeCollection()],
    mutate: mutateCollection,
    run: async (input) => {
      const found = await readCollection(memoryContent(input, 'a test'), new AbortController().signal);
      insist(Object.values(found).every(isPlain), `the collection ${JSON.stringify(found)}`);
    },
  },
];
