/** user@host:path, which Git treats as ssh. One letter before the colon would be a Windows drive. */
const SCP_LIKE = /^(?:[^\s/@]+@)?[^\s/:@]{2,}:(?!\/\/)/;
const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Whether Git has to fetch it (a URL or user@host:path); otherwise it is a directory. */
export const isRepositoryUrl = (text: string): boolean => SCHEME.test(text) || SCP_LIKE.test(text);

/** The URL without user name and password: the only form that is printed, stored or compared. */
export const redactUrl = (url: string): string => {
  const scheme = SCHEME.exec(url)?.[0];
  if (scheme === undefined) return url;
  const rest = url.slice(scheme.length);
  const end = rest.search(/[/?#]/);
  const authority = end === -1 ? rest : rest.slice(0, end);
  return `${scheme}${authority.slice(authority.lastIndexOf('@') + 1)}${end === -1 ? '' : rest.slice(end)}`;
};

/** Removes credentials from URLs in a tool's output. */
export const redactText = (text: string): string =>
  text.replaceAll(/([a-z][a-z0-9+.-]*:\/\/)[^\s/@'"]*@/gi, '$1');

/**
 * A key that is equal for different spellings of one repository: no credentials, no trailing slash or .git, host in lower
 * case.
 */
export const repositoryKey = (url: string): string => {
  const plain = redactUrl(url.trim())
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .replace(/\/+$/, '');
  return plain.replace(/^([a-z][a-z0-9+.-]*:\/\/[^/]*)/i, (head) => head.toLowerCase());
};
