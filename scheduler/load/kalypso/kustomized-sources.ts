import { posix } from 'node:path';
import { FleetError } from '#bundles/errors';
import { PLATFORM_OBJECT_HINT } from '../objects/read-objects.ts';
import { findKustomization, isKustomization, isRemote } from '../sources/kustomization-file.ts';
import { cleanPath, type Source, type Sources } from '../sources/open-sources.ts';
import type { SourceFile } from '../sources/read-files.ts';
import { type Listing, readListing } from './read-listing.ts';

/**
 * Reads repositories as Flux's Kustomizations deliver them: a folder with a kustomization delivers what it lists, with its
 * names and labels; any other folder delivers all its YAML, and the kustomizations below it.
 */
export const withKustomizations = (sources: Sources): Sources => ({
  ...sources,
  read: async (request) => {
    const source = await sources.read(request);
    if (!source.files.some(({ path }) => isKustomization(path))) return source;
    const path = cleanPath(request.path);
    const own = source.files.map((file) => ({ ...file, path: posix.join(path, file.path) }));
    const tree: Tree = {
      source,
      path,
      files: new Map(own.map((file) => [file.path, file])),
      listings: new Map(),
    };
    if (!leavesFolder(tree)) return { ...source, files: deliver(tree) };
    // Files listed from outside of the folder are read from the same state of the repository.
    const whole = await sources.read({ ...request, path: '.' });
    const files = new Map(whole.files.map((file) => [file.path, file]));
    return { ...source, files: deliver({ ...tree, files, listings: new Map() }) };
  },
});

type Tree = {
  readonly source: Source;
  /** The delivered folder, as a path in the repository. */
  readonly path: string;
  /** Keyed by path in the repository. */
  readonly files: ReadonlyMap<string, SourceFile>;
  readonly listings: Map<string, Listing>;
};

const leavesFolder = (tree: Tree): boolean =>
  tree.path !== '.' &&
  [...tree.files.keys()]
    .filter(isKustomization)
    .some((file) =>
      listingOf(tree, file).entries.some(
        ({ path }) =>
          !isRemote(path) && !`${posix.join(posix.dirname(file), path)}/`.startsWith(`${tree.path}/`),
      ),
    );

const deliver = (tree: Tree): readonly SourceFile[] => {
  const found = new Map<string, SourceFile>();
  const within = relevantFolders(tree);
  collect({ tree, within, found, open: [] }, tree.path);
  return [...found.values()].map((file) => ({ ...file, path: posix.relative(tree.path, file.path) }));
};

type Collecting = {
  readonly tree: Tree;
  /** Folders with a platform object at any depth. */
  readonly within: ReadonlySet<string>;
  readonly found: Map<string, SourceFile>;
  /** Kustomizations being read, outermost first. */
  readonly open: readonly Listing[];
};

/** Only kustomizations above platform objects are read; an application's repository may have others. */
const relevantFolders = ({ files }: Tree): ReadonlySet<string> => {
  const folders = new Set<string>();
  for (const [path, { bytes }] of files) {
    if (!PLATFORM_OBJECT_HINT.test(bytes.toString('latin1'))) continue;
    for (let folder = posix.dirname(path); !folders.has(folder); folder = posix.dirname(folder))
      folders.add(folder);
  }
  return folders;
};

const collect = (collecting: Collecting, folder: string): void => {
  const { tree, within } = collecting;
  const file = findKustomization(tree.files, folder);
  if (file !== undefined) {
    if (within.has(folder) || collecting.open.length > 0) collectListed(collecting, file);
    return;
  }
  const children = new Set<string>();
  for (const [path, one] of tree.files) {
    if (posix.dirname(path) === folder) add(collecting, one);
    else if (folder === '.' || path.startsWith(`${folder}/`)) children.add(childOf(folder, path));
  }
  for (const child of children) collect(collecting, child);
};

const childOf = (folder: string, path: string): string => {
  const start = folder === '.' ? 0 : folder.length + 1;
  return path.slice(0, path.indexOf('/', start));
};

const collectListed = (collecting: Collecting, file: string): void => {
  const { tree, open } = collecting;
  const listing = listingOf(tree, file);
  if (listing.fault) throw listing.fault;
  if (open.includes(listing)) throw faultOf(listing, listing.entries[0], 'this kustomization lists itself');
  const inside = { ...collecting, open: [...open, listing] };
  for (const entry of listing.entries) {
    const path = posix.join(posix.dirname(file), entry.path);
    const one = tree.files.get(path);
    if (isRemote(entry.path)) throw faultOf(listing, entry, `${entry.path} lies outside of the repository`);
    else if (one) add(inside, one);
    else if (findKustomization(tree.files, path) !== undefined) collect(inside, path);
    else throw faultOf(listing, entry, `there is no ${entry.path}, or no kustomization in it`);
  }
};

const faultOf = (
  listing: Listing,
  entry: Listing['entries'][number] | undefined,
  message: string,
): FleetError =>
  new FleetError('REFERENCE_MISSING', message, {
    subject: 'Kustomization',
    at: entry?.at ?? listing.at,
    hint: 'List files of the same repository, or folders of it that have a kustomization',
  });

const add = ({ found, open }: Collecting, file: SourceFile): void => {
  if (isKustomization(file.path)) return;
  const changes = open.toReversed().flatMap(({ change }) => (change ? [change] : []));
  found.set(file.path, changes.length === 0 ? file : { ...file, changes });
};

const listingOf = ({ source, path, files, listings }: Tree, file: string): Listing => {
  const known = listings.get(file);
  if (known) return known;
  const shown = `${source.prefix}${posix.relative(path, file)}`;
  const listing = readListing(shown, (files.get(file) as SourceFile).bytes);
  listings.set(file, listing);
  return listing;
};
