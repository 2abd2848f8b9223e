import type { Peer } from './peers.ts';

const NOTHING = {
  exportFull: undefined,
  exportDelta: undefined,
  importFull: undefined,
  importDelta: undefined,
  inspect: undefined,
} as const;

/** fleet-export as users run it, and without reading the medium back, which no other tool does. @param program the installed program */
export const ours = (program: string, registry: string): readonly Peer[] => {
  const tool = (name: string, out: string, flags: string): Peer => {
    const create = (release: 1 | 2, more: string): string =>
      `${program} create --from oci://${registry}/release-${release} --channel prod/edge --to ${out} ${flags} ${more} > /dev/null 2>&1`;
    const push = (medium: string): string =>
      `${program} push ${medium}/${out} --to oci://TARGET/fleet > /dev/null 2>&1`;
    const rename = out === 'out' ? '' : `\nln ${out} out`;
    return {
      name,
      exportFull: `${create(1, '')}${rename}`,
      exportDelta: `${create(2, `--for ../first/${out}`)}${rename}`,
      importFull: push('../first'),
      importDelta: push('../second'),
      inspect: `${program} inspect ../first/${out} > /dev/null`,
    };
  };
  return [
    tool('fleet-export, folder', 'out', ''),
    tool('fleet-export, tar', 'medium.tar', ''),
    tool('fleet-export, folder, not read back', 'out', '--no-read-back'),
    tool('fleet-export, tar, not read back', 'medium.tar', '--no-read-back'),
  ];
};

/** A blob and its repository in the registry. */
export type PushedBlob = { readonly digest: string; readonly size: number; readonly repository: string };

/**
 * Lower bounds for every tool: fetching, copying and hashing the bytes; starting Node.
 * @param layout folder with the same blobs
 */
export const floors = (url: string, layout: string, blobs: readonly PushedBlob[]): readonly Peer[] => {
  const config = blobs.map(
    ({ digest, repository }) =>
      `url = "${url}/v2/${repository}/blobs/${digest}"\\noutput = "out/${digest.slice('sha256:'.length)}"`,
  );
  const floor = (name: string, exportFull: string): Peer => ({
    name: `floor: ${name}`,
    ...NOTHING,
    exportFull,
  });
  return [
    floor('curl of the blobs', `mkdir out\nprintf '${config.join('\\n')}\\n' | curl -fsS -K -`),
    floor('cp', `cp -r ${layout}/blobs out`),
    floor('openssl sha256', `openssl sha256 ${layout}/blobs/sha256/* > /dev/null`),
    { name: 'floor: node -e 0', ...NOTHING, inspect: `${process.execPath} -e 0` },
  ];
};
