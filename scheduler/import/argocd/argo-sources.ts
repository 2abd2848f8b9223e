import type { Place } from '#bundles/errors';
import type { SourceTree } from '../imported.ts';
import type { NoteBook } from '../read/notes.ts';
import { looseKey, type Repository } from '../read/open-repository.ts';

export type ArgoSources = {
  /** The files of a repository by its address; undefined, with a note, for another one than the imported. */
  readonly treeOf: (
    url: string,
    revision: string | undefined,
    at: Place,
    subject: string,
  ) => SourceTree | undefined;
};

const DEFAULT_REVISIONS = new Set(['', 'HEAD', 'main', 'master']);

/** @param firstAddress taken for this repository where nobody said its address: the one that most objects name */
export const openArgoSources = (
  { tree, addresses, revision }: Repository,
  firstAddress: string | undefined,
  notes: NoteBook,
): ArgoSources => {
  let guessed = addresses.size === 0 && firstAddress !== undefined ? looseKey(firstAddress) : undefined;
  return {
    treeOf: (url, wanted, at, subject) => {
      // A root that was named by its folder has no address.
      if (url === '') return tree;
      const key = looseKey(url);
      if (addresses.size === 0) guessed ??= key;
      if (!addresses.has(key) && key !== guessed) {
        notes.add('unmapped', at, subject, {
          what: `its repository ${url} is not this one`,
          todo: 'Import that repository too, or, if it is this one under another address, say --address <URL>',
        });
        return undefined;
      }
      if (key === guessed)
        notes.add('told', { file: at.file }, 'repository', {
          what: `${url} is taken for this repository, as no address of it was given`,
          todo: 'If it is another one, say --address <URL of this one>',
        });
      if (wanted !== undefined && !DEFAULT_REVISIONS.has(wanted) && wanted !== revision)
        notes.add('changed', at, subject, {
          what: `it names the revision ${wanted}; what was written is the state that was read`,
          todo: `Import again from <repository>@${wanted} if that differs`,
        });
      return tree;
    },
  };
};
