"""Go, Rust, Java, shell, and Python where it is more than the walker's common part."""

import pytest

from tests.retrieval_server.engine.chunkers.spans import chunks_in, outline


@pytest.mark.parametrize(
    ("text", "breadcrumbs"),
    [
        ("func (s *Server) Start() {}\n", ("Server", "Start")),
        ("func (s Server[T]) Start() {}\n", ("Server", "Start")),
        ("func (*Server) Start() {}\n", ("Server", "Start")),
        ("func Start[T any](a T) {}\n", ("Start",)),
        ("type Server struct{ x int }\n", ("Server",)),
    ],
)
def test_a_go_method_belongs_to_the_type_of_its_receiver(text: str, breadcrumbs: tuple[str, ...]):
    assert chunks_in(f"package p\n\n{text}", "go")[0].breadcrumbs == breadcrumbs


def test_each_constant_of_a_go_group_is_named():
    text = "package p\n\n// Kinds.\nconst (\n\tA = iota\n\tB\n)\n\nvar (\n\tC int\n)\n\ntype (\n\tD int\n\tE = D\n)\n"
    assert chunks_in(text, "go")[0].names == ("A", "B", "C", "D", "E")


def test_a_large_rust_impl_is_cut_by_its_methods_under_the_type():
    methods = "".join(
        f"    /// Does {i}.\n    #[inline]\n    fn m{i}(&self) {{\n        run();\n    }}\n\n" for i in range(3)
    )
    text = f"impl<'a, T> fmt::Display for &'a mut path::Pool<T> {{\n{methods}}}\n"
    assert outline(text, "rust", 130) == [
        (("Pool", "m0"), "impl<'a, T> fmt::Display for &'a mut path::Pool<T> {"),
        (("Pool", "m1"), "    /// Does 1."),
        (("Pool", "m2"), "    /// Does 2."),
    ]


def test_a_small_rust_impl_adds_to_its_type_and_does_not_define_it():
    (only,) = chunks_in(
        "impl Pool {\n    fn take(&self) {}\n}\n\nimpl Drop for Pool {\n    fn drop(&mut self) {}\n}\n", "rust"
    )
    assert (only.breadcrumbs, only.names) == (("Pool",), ("take", "drop"))


def test_rust_modules_traits_and_macros_are_named():
    text = (
        "mod inner {\n    pub trait Shape {\n        fn area(&self);\n    }\n}\n\nmacro_rules! m {\n    () => {};\n}\n"
    )
    (only,) = chunks_in(text, "rust")
    assert only.names == ("Shape", "area", "m")


def test_a_large_java_class_is_cut_by_its_members_and_those_of_classes_in_it():
    text = """\
package a.b;

/** Holds. */
@Service
public class Pool<T> extends Base {
  private int size = 1;

  /** Takes. */
  @Override
  public T take(int a) {
    return items.get(a).orElseThrow();
  }

  enum Kind {
    SMALL, LARGE;

    int bytes() {
      return this == SMALL ? 1024 : 65536;
    }
  }

  record Pair(int a, int b) {}
}
"""
    found = chunks_in(text, "java", 125)
    assert [(c.breadcrumbs, c.names) for c in found] == [
        ((), ()),
        (("Pool",), ("Pool",)),
        (("Pool", "take"), ("take",)),
        (("Pool", "Kind"), ("Kind", "SMALL", "LARGE", "bytes")),
        (("Pool", "Pair"), ("Pair",)),
    ]
    assert text[found[2].start_char :].startswith("  /** Takes. */")


def test_shell_functions_are_found_in_all_their_forms():
    text = (
        "#!/bin/sh\nset -e\n\nfirst() {\n  :\n}\n\nfunction second {\n  :\n}\n\nthird() (\n  :\n)\n\nfirst && second\n"
    )
    assert chunks_in(text, "shell")[0].names == ("first", "second", "third")


def test_what_only_cython_allows_costs_names_and_never_cuts_a_line():
    text = (
        "cdef class Pool(Base):\n    cdef int size\n\n    def take(self):\n        return 1\n\n\n"
        "cdef inline const Block* block(int* a) noexcept:\n    return &a\n\n\n"
    ) * 4
    found = chunks_in(text, "python", 150)
    assert {name for c in found for name in c.names} == {"Pool"}
    assert all(c.start_char == 0 or text[c.start_char - 1] == "\n" for c in found)
