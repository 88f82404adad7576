// Run from the top folder, because ESLint looks at nothing outside the folder it runs in: `npm run lint` does.

import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    rules: {
      "array-callback-return": "error",
      eqeqeq: "error",
      "no-shadow": "error",
      "no-var": "error",
      "prefer-const": "error",
      "prefer-template": "error",
      "max-len": ["error", { code: 130 }],
      "max-lines": ["error", 500],
      "max-lines-per-function": ["error", 60],
    },
  },
  { files: ["dynet_vdgi/page/static/*.js"], languageOptions: { globals: globals.browser } },
  { files: ["tests/page/*.test.js"], languageOptions: { globals: globals.node } },
];
