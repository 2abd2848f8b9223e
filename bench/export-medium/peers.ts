import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The other tools that this machine has. Each step is a shell script that runs in an empty folder. */
export type Peer = {
  readonly name: string;
  /** Registry to one file (or folder) `out`. */
  readonly exportFull: string | undefined;
  /** The same after one small layer changed; `../first` has the output of the first export. */
  readonly exportDelta: string | undefined;
  /** `out` of the full export into an empty registry. */
  readonly importFull: string | undefined;
  /** `out` of the second export into a registry that has the first release. */
  readonly importDelta: string | undefined;
  readonly inspect: string | undefined;
};

export type PeerInput = {
  readonly source: string;
  readonly target: string;
  /** Repository names of the images, of release 1 and 2: 'app-00:1', 'app-00:2'. */
  readonly first: readonly string[];
  readonly second: readonly string[];
  readonly skopeo: string;
  readonly oras: string;
  readonly imgpkg: string | undefined;
  readonly zarf: string | undefined;
};

/** Tools of the table that are these programs. */
export const PEER_NAMES = {
  imgpkg: ['imgpkg', 'imgpkg, then sync', 'imgpkg, sync, read back'],
  zarf: ['zarf, no SBOM, uncompressed'],
} as const;

const lines = (list: readonly string[]): string => list.join('\n');

const tagOf = (name: string): string => name.replace(':', '-');

const skopeoPeer = ({ source, target, first, second, skopeo }: PeerInput): Peer => {
  const pull = (names: readonly string[]): string =>
    lines(
      names.map(
        (name) =>
          `${skopeo} copy -q --all --src-tls-verify=false docker://${source}/${name} oci:layout:${tagOf(name)}`,
      ),
    );
  const push = (names: readonly string[]): string =>
    lines(
      names.map(
        (name) =>
          `${skopeo} copy -q --all --dest-tls-verify=false oci:layout:${tagOf(name)} docker://${target}/${name}`,
      ),
    );
  return {
    name: 'skopeo, tar',
    exportFull: `${pull(first)}\ntar -cf out layout`,
    exportDelta: `cp -rl ../first/layout layout\ntouch before\nsleep 0.01\n${pull(second)}\nfind layout -newer before -type f > new\ntar -cf out -T new`,
    importFull: `tar -xf ../first/out\n${push(first)}`,
    importDelta: undefined,
    inspect: 'tar -xOf ../first/out layout/index.json',
  };
};

/** skopeo copies one repository a call, so each image is a tar of its own and shares no layers. */
const orasPeer = ({ source, target, first, oras }: PeerInput): Peer => ({
  name: 'oras',
  exportFull: lines(
    first.map(
      (name) =>
        `${oras} copy -r --from-plain-http --to-oci-layout ${source}/${name} out:${tagOf(name)} > /dev/null`,
    ),
  ),
  exportDelta: undefined,
  importFull: lines(
    first.map(
      (name) =>
        `${oras} copy -r --from-oci-layout --to-plain-http ../first/out:${tagOf(name)} ${target}/${name} > /dev/null`,
    ),
  ),
  importDelta: undefined,
  inspect: undefined,
});

const lockOf = (source: string, names: readonly string[]): string =>
  `printf 'apiVersion: imgpkg.carvel.dev/v1alpha1\\nkind: ImagesLock\\nimages:\\n' > lock.yml\n${lines(
    names.map(
      (name) =>
        `echo "- image: ${source}/${name.replace(/:.*/, '')}@$(cat ../../digests/${tagOf(name)})" >> lock.yml`,
    ),
  )}`;

const imgpkgPeer = ({ source, target, first, second }: PeerInput, imgpkg: string): Peer => {
  const copy = (names: readonly string[]): string =>
    `${lockOf(source, names)}\n${imgpkg} copy --lock lock.yml --to-tar out --registry-insecure > /dev/null`;
  const load = (out: string): string =>
    `${imgpkg} copy --tar ${out} --to-repo ${target}/all --registry-insecure > /dev/null`;
  return {
    name: 'imgpkg',
    exportFull: copy(first),
    exportDelta: copy(second),
    importFull: load('../first/out'),
    importDelta: load('../second/out'),
    inspect: 'tar -xOf ../first/out manifest.json',
  };
};

/** Writes everything to the disk, so that a stick can be unplugged. fleet-export always does. */
const syncedPeer = (input: PeerInput, imgpkg: string): Peer => {
  const { exportFull, exportDelta } = imgpkgPeer(input, imgpkg);
  return {
    name: 'imgpkg, then sync',
    exportFull: `${exportFull}\nsync out`,
    exportDelta: `${exportDelta}\nsync out`,
    importFull: undefined,
    importDelta: undefined,
    inspect: undefined,
  };
};

/** imgpkg with sync, which also compares the written file with what it reads back, and reads the whole file before an import. */
const readBackPeer = (input: PeerInput, imgpkg: string): Peer => ({
  ...syncedPeer(input, imgpkg),
  name: 'imgpkg, sync, read back',
  exportFull: `${syncedPeer(input, imgpkg).exportFull}\nbefore=$(openssl sha256 < out)\n[ "$(dd if=out iflag=direct bs=1M status=none | openssl sha256)" = "$before" ]`,
  exportDelta: undefined,
  importFull: `openssl sha256 ../first/out > /dev/null\n${imgpkgPeer(input, imgpkg).importFull}`,
});

const zarfPeer = ({ source, target, first }: PeerInput, zarf: string): Peer => {
  const common = '--plain-http --no-progress --log-level warn --zarf-cache ./cache --tmpdir .';
  const definition = (names: readonly string[], version: string): string =>
    `printf 'kind: ZarfPackageConfig\\nmetadata:\\n  name: bench\\n  version: ${version}\\n  uncompressed: true\\ncomponents:\\n  - name: all\\n    required: true\\n    images:\\n' > zarf.yaml\n${lines(names.map((name) => `echo "      - ${source}/${name}" >> zarf.yaml`))}`;
  return {
    name: 'zarf, no SBOM, uncompressed',
    exportFull: `${definition(first, '0.0.1')}\n${zarf} package create . --confirm --skip-sbom ${common} > /dev/null 2>&1\nmv zarf-package-*.tar out`,
    exportDelta: undefined,
    importFull: `ln ../first/out zarf-package-bench-amd64-0.0.1.tar\n${zarf} package mirror-resources zarf-package-bench-amd64-0.0.1.tar --registry-url ${target} --registry-push-username a --registry-push-password b --confirm ${common} > /dev/null 2>&1`,
    importDelta: undefined,
    inspect: undefined,
  };
};

export const peersOf = (input: PeerInput): readonly Peer[] => [
  skopeoPeer(input),
  orasPeer(input),
  ...peersOfImgpkg(input),
  ...(input.zarf === undefined ? [] : [zarfPeer(input, input.zarf)]),
];

const peersOfImgpkg = (input: PeerInput): readonly Peer[] => {
  const { imgpkg } = input;
  if (imgpkg === undefined) return [];
  return [imgpkgPeer, syncedPeer, readBackPeer].map((peer) => peer(input, imgpkg));
};

/** Digests of images, for lock files: `digests/<tag>`. */
export const writeDigests = async (
  folder: string,
  digests: Readonly<Record<string, string>>,
): Promise<void> => {
  await mkdir(join(folder, 'digests'), { recursive: true });
  for (const [name, digest] of Object.entries(digests))
    await writeFile(join(folder, 'digests', tagOf(name)), digest);
};
