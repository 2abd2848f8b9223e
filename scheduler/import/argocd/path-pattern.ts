/** A test for paths by a pattern with `*`, `?`, `**`, `{a,b}` and `[...]`, as Argo CD has them. */
export const pathPattern = (pattern: string): ((path: string) => boolean) => {
  const source = pattern
    .replace(/^\.?\/+/, '')
    .split(/(\*\*\/|\*\*|\*|\?|\{[^{}]*\}|\[[^\]]*\])/)
    .map((part) => {
      if (part === '**/') return '(?:.*/)?';
      if (part === '**') return '.*';
      if (part === '*') return '[^/]*';
      if (part === '?') return '[^/]';
      if (part.startsWith('{') && part.endsWith('}'))
        return `(?:${part
          .slice(1, -1)
          .split(',')
          .map((one) => RegExp.escape(one))
          .join('|')})`;
      if (part.startsWith('[') && part.endsWith(']'))
        return part.replace(/^\[[!^]/, '[^').replaceAll('\\', '\\\\');
      return RegExp.escape(part);
    })
    .join('');
  const test = new RegExp(`^${source}$`);
  return (path) => test.test(path);
};
