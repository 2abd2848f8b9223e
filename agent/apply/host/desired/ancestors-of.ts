/** The parent directories of a path, without '/': '/a/b/c' -> '/a', '/a/b'. */
export const ancestorsOf = (path: string): readonly string[] => {
  const parts = path.slice(1).split('/').slice(0, -1);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
};
