import { parseImageName } from '#bundles/images/image-name';

/** Can a container runtime read it as the name of an image? */
export const isImageReference = (text: string): boolean => parseImageName(text) !== undefined;

/** Does it look like one that somebody means to be pulled, and not like any other word? */
export const looksLikeImage = (text: string): boolean =>
  isImageReference(text) &&
  (/@sha256:/.test(text) ||
    (/\//.test(text) && /^[^/]*[.:]/.test(text)) ||
    /^[^:]*[a-z][^:]*:[a-zA-Z0-9_.-]*[a-zA-Z0-9]$/.test(text));

/** A text cut where the images in it stand. */
export type ImageText = readonly (string | { readonly image: string })[];

const OPTION = /^--?[A-Za-z][\w.-]*=/;

/**
 * The images in a text: the whole of it, what follows `--option=`, or, line by line, what follows `name=`. undefined: there is
 * no image in it, or something else as well.
 */
export const cutImages = (text: string): ImageText | undefined => {
  if (isImageReference(text)) return [{ image: text }];
  const option = OPTION.exec(text)?.[0];
  if (option !== undefined) {
    const image = text.slice(option.length);
    return isImageReference(image) ? [option, { image }] : undefined;
  }
  const parts: (string | { readonly image: string })[] = [];
  for (const line of text.split(/(?<=\n)/)) {
    if (line.trim() === '') {
      parts.push(line);
      continue;
    }
    const [, before = '', image = '', after = ''] = /^(\s*[^\s=]+=)(\S+)(\s*)$/.exec(line) ?? [];
    if (!isImageReference(image)) return undefined;
    parts.push(before, { image }, after);
  }
  return parts.some((part) => typeof part !== 'string') ? parts : undefined;
};
