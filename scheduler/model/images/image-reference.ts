import { parseImageName } from '#bundles/formats/bundle/image-name';

/** Whether a container runtime can parse the text as an image name. */
export const isImageReference = (text: string): boolean => parseImageName(text) !== undefined;

/** Whether the text is likely an image reference and not another word: it has a digest, a registry host or a tag. */
export const looksLikeImage = (text: string): boolean =>
  isImageReference(text) &&
  (/@sha256:/.test(text) ||
    (/\//.test(text) && /^[^/]*[.:]/.test(text)) ||
    /^[^:]*[a-z][^:]*:[a-zA-Z0-9_.-]*[a-zA-Z0-9]$/.test(text));

/** A text, split at the images in it. */
export type ImageText = readonly (string | { readonly image: string })[];

const OPTION = /^--?[A-Za-z][\w.-]*=/;

/**
 * Finds the images in a text: the whole text, the part after `--option=`, or line by line the part after `name=`. Undefined
 * when there is no image, or a line holds something else.
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
