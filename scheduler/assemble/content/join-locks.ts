import type { PlatformLock } from '../images/lock-platform.ts';
import { eachOnce } from '../../model/problems.ts';
import type { ContentsLock } from './lock-contents.ts';

/** What was locked of images and of files, told as one. @param images undefined: they were not asked about */
export const joinLocks = (images: PlatformLock | undefined, contents: ContentsLock): PlatformLock => {
  const files = contents.locked.map(({ name, before, after }) => ({ image: name, before, after }));
  const names = new Set(contents.names);
  return {
    file: images?.file ?? contents.file,
    // A chart may be a file of a host and what a cluster's application is made of.
    images: [...(images?.images ?? []).filter(({ image }) => !names.has(image)), ...files],
    attachments: images?.attachments ?? [],
    leftOut: images?.leftOut ?? [],
    unused: [...(images?.unused ?? []).filter((one) => !names.has(one)), ...contents.unused],
    missing: [...(images?.missing ?? []), ...contents.missing],
    unread: eachOnce([...(images?.unread ?? []), ...contents.unread]),
  };
};
