import { FleetError } from '../../errors.ts';
import { quoted } from './tar-header.ts';

/**
 * Returns a function that accepts each path once. It throws FleetError DUPLICATE for a second entry of a path, and for a path that is
 * both a file and a directory: the order of entries would decide what is on disk.
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
