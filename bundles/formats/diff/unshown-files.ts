import { HOST_PACKAGE, parseHostPackage } from '../bundle/host-package.ts';
import { isFleetError } from '../../errors.ts';

const GROUP_OR_OTHERS_READ = 0o044;

/**
 * Files of a host package whose content a diff must not show: encrypted files, and files that only their owner may read on
 * the host. Maps the path in the package to the reason.
 */
export const unshownFiles = (files: ReadonlyMap<string, Buffer>): ReadonlyMap<string, string> => {
  const spec = files.get(HOST_PACKAGE);
  if (!spec) return new Map();
  try {
    const { files: placed, secrets = [] } = parseHostPackage(spec);
    return new Map([
      ...placed.flatMap((file) =>
        'content' in file && isPrivate(file)
          ? [[file.content, 'only its owner may read it on the host'] as const]
          : [],
      ),
      ...secrets.flatMap((secret) => ('content' in secret ? [[secret.content, 'encrypted'] as const] : [])),
    ]);
  } catch (error) {
    // A file of that name in a package of another kind.
    if (isFleetError(error)) return new Map();
    throw error;
  }
};

/** @param file of a host package or a part of its package.json */
export const isPrivate = ({ mode }: { readonly mode?: unknown }): boolean =>
  typeof mode === 'string' &&
  /^[0-7]{4}$/.test(mode) &&
  (Number.parseInt(mode, 8) & GROUP_OR_OTHERS_READ) === 0;
