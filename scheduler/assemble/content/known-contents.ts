import type { Contents } from './content.ts';
import { contentCache, openContents } from './contents.ts';
import { noFetch } from './no-contents.ts';

/** Only what was fetched before. @param directory the scheduler's cache */
export const knownContents = (directory: string): Contents => openContents(contentCache(directory), noFetch);
