/** How a program is written so that cli/run-compiled.js can run it: one function of CommonJS. */
export const AS_FUNCTION = {
  format: 'cjs',
  postBanner: '(function (exports, require, module, __filename, __dirname) {',
  postFooter: '})',
} as const;
