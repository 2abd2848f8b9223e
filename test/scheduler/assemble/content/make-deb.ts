import { gzipSync } from 'node:zlib';
import { encodeHeader, paddingOf } from '#bundles/formats/archive/tar-header';
import { memoryContent } from '../../../../scheduler/assemble/content/memory-content.ts';
import { readDeb, type Unxz } from '../../../../scheduler/assemble/content/debs/read-deb.ts';

export const CONTROL =
  'Package: hello\nVersion: 2.10-3\nArchitecture: amd64\nDescription: greets\n and waves\n';

export type Member = { readonly name: string; readonly bytes: Uint8Array | string; readonly size?: string };

/** An ar archive, as deb(5) has it; `size` says something else than there is. */
export const ar = (members: readonly Member[]): Buffer =>
  Buffer.concat([
    Buffer.from('!<arch>\n'),
    ...members.flatMap(({ name, bytes, size }) => {
      const content = Buffer.from(bytes);
      const said = (size ?? String(content.length)).padEnd(10);
      const header = `${name.padEnd(16)}${'0'.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${said}\`\n`;
      return [Buffer.from(header), content, Buffer.alloc(content.length % 2, '\n')];
    }),
  ]);

export const tar = (
  files: Readonly<Record<string, string>> | readonly (readonly [string, string])[],
): Buffer =>
  Buffer.concat([
    ...(Array.isArray(files) ? files : Object.entries(files)).flatMap(([name, text]) => {
      const bytes = Buffer.from(text as string);
      const header = { name: name as string, prefix: '', size: bytes.length, mode: 0o644, directory: false };
      return [encodeHeader(header), bytes, Buffer.alloc(paddingOf(bytes.length))];
    }),
    Buffer.alloc(1024),
  ]);

export const makeDeb = (control = CONTROL, more: readonly Member[] = []): Buffer =>
  ar([
    { name: 'debian-binary', bytes: '2.0\n' },
    { name: 'control.tar.gz', bytes: gzipSync(tar({ './control': control, './md5sums': '' })) },
    { name: 'data.tar.gz', bytes: gzipSync(tar({ './usr': 'x' })) },
    ...more,
  ]);

const noXz: Unxz = async () => {
  throw new Error('there is no xz here');
};

export const read = (deb: Buffer, unxz: Unxz = noXz) =>
  readDeb(memoryContent(deb, 'a test'), unxz, new AbortController().signal);
