"""Packaging of dynet_vdgi; tool settings are in pyproject.toml."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(
    r'"(.+?)"$', (HERE / "dynet_vdgi" / "_version.py").read_text(encoding="utf-8").rstrip()
)
AUTHOR = re.search(
    r"^  - name: (.+)$", (HERE / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE
)
assert VERSION is not None
assert AUTHOR is not None

setup(
    name="dynet_vdgi",
    version=VERSION[1],
    description="Learns to parse a language from part-of-speech-tagged sentences, without trees",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author=AUTHOR[1],
    keywords=[
        "dependency parsing",
        "grammar induction",
        "unsupervised parsing",
        "low-resource languages",
        "Universal Dependencies",
        "CoNLL-U",
        "DMV",
        "RNNG",
        "treebank",
        "computational linguistics",
    ],
    project_urls={"Paper": "https://doi.org/10.1609/aaai.v33i01.33016658"},
    license="MIT",
    license_files=["LICENSE"],
    # dyNET38 is the maintained wheel of DyNet (module `dynet`), built for these versions of Python.
    # The name `dynet` would fetch a source distribution that no longer compiles.
    python_requires=">=3.10,<3.14",
    install_requires=[
        "dyNET38>=2.2",
        "numpy>=1.24",
        "msgspec>=0.18",
        "wcwidth>=0.2.6",
        "gensim>=4.3",
        "conllu>=5.0",
        "jinja2>=3.1",
        "tqdm>=4.60",
        "threadpoolctl>=3.1",
        "regex>=2022.1.18",
        "numba>=0.61",
        "scipy>=1.10",
        "tomli>=2.0; python_version < '3.11'",
    ],
    extras_require={
        "annotate": ["starlette>=0.40", "uvicorn>=0.30"],
        "validate": ["udtools>=0.2.9", "langcodes>=3.3"],
        "completion": ["argcomplete>=3.0"],
        "spacy": ["spacy>=3.7,<4"],
        "docs": ["mkdocs>=1.6,<2", "mkdocs-material>=9.5"],
        "dev": [
            "pytest>=8.0",
            "pytest-cov>=5.0",
            "pytest-xdist>=3.7",
            "pytest-timeout>=2.3",
            "hypothesis>=6.100",
            "ruff>=0.9",
            "mypy>=1.14",
            "import-linter>=2.1",
            "codespell[toml]>=2.3",
            "matplotlib>=3.8",  # two scripts of experiments draw learning curves
            "udtools>=0.2.9",
            "langcodes>=3.3",
            "argcomplete>=3.0",
            "mkdocs>=1.6,<2",
            "mkdocs-material>=9.5",
            "starlette>=0.40",
            "uvicorn>=0.30",
            "playwright>=1.45",
            "axe-playwright-python>=0.1.4",
        ],
    },
    packages=[*find_packages(include=["dynet_vdgi", "dynet_vdgi.*"]), "dynet_vdgi.resources"],
    # The resources lie at the top of the repository, for people to edit, and inside the installed
    # package.
    package_dir={"dynet_vdgi.resources": "resources"},
    package_data={
        "dynet_vdgi": ["py.typed"],
        "dynet_vdgi.page": ["static/*"],
        "dynet_vdgi.rivals": ["presets/*.toml", "rules/*.txt"],
        "dynet_vdgi.resources": [
            "*.csv",
            "rules/*.txt",
            "heads/*.txt",
            "presets/*.toml",
            "experiments/*.toml",
            "demo/*",
            "labels/*.txt",
            "models/*.vdgi",
            "tagging/*",
            "release/*",
        ],
    },
    entry_points={
        "console_scripts": ["vdgi = dynet_vdgi.__main__:run"],
        "spacy_factories": ["vdgi = dynet_vdgi.spacy_component:make"],
    },
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Intended Audience :: Science/Research",
        "Intended Audience :: Education",
        "Natural Language :: English",
        "Operating System :: MacOS",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
        "Typing :: Typed",
    ],
)
