import { FleetError } from '../errors.ts';
import { quoted } from './tar-header.ts';

/**
 * A function that takes each path once: a second entry of the same path, or a path that is a file here and a
 * directory there, would let the order of entries decide what is on disk.
 * @throws (the returned function) FleetError DUPLICATE
 */
export const claimPaths = (): ((path: string, directory: boolean) => void) => {
  const taken = new Map<string, 'file' | 'directory' | 'parent'>();
  return (path, directory) => {
    const before = taken.get(path);
    if (before !== undefined && !(before === 'parent' && directory)) throw duplicate(path);
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const parent = path.slice(0, end);
      const kind = taken.get(parent);
      if (kind === 'file') throw duplicate(parent);
      if (kind !== undefined) break;
      taken.set(parent, 'parent');
    }
    taken.set(path, directory ? 'directory' : 'file');
  };
};

const duplicate = (path: string): FleetError =>
  new FleetError('DUPLICATE', 'an archive names the same path twice', { subject: quoted(path) });
